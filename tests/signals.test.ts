import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isAlive, Running } from './support/forkhestra.ts'
import { makeProject, sh } from './support/project.ts'

const waits = sh('echo started', 'exec tail -f /dev/null')

const signals = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const

test.each(signals)(
  '%s reaches the agent, ends the run and gives exit code %d',
  async (signal, code) => {
    const cwd = makeProject({
      agent: sh(
        `trap 'echo got ${signal}; exit 7' ${signal.slice(3)}`,
        'echo started',
        'tail -f /dev/null & wait',
      ),
      later: sh('echo never'),
    })
    const run = new Running(['agent:3 -> later'], { cwd })
    await run.printed('started')
    run.signal(signal)
    const { code: got, stdout } = await run.finished
    expect(got).toBe(code)
    expect(stdout).toContain(`got ${signal}`)
    expect(stdout).not.toContain('Iteration 2/3')
    expect(stdout).toEndWith(`
  1. agent: incomplete (1/3 iterations, interrupted by ${signal})
  2. later: skipped
[forkhestra] Chain incomplete (0/2 steps)
[forkhestra] Failed at step 1: agent (interrupted by ${signal})
`)
  },
)

test('a second signal ends a deaf agent at once', async () => {
  const cwd = makeProject({
    agent: sh(`trap '' INT TERM`, 'echo started', 'while :; do tail -f /dev/null; done'),
  })
  const run = new Running(['agent'], { cwd })
  await run.printed('started')
  const began = performance.now()
  run.signal('SIGINT')
  await Bun.sleep(200)
  run.signal('SIGINT')
  const { code } = await run.finished
  expect(code).toBe(130)
  expect(performance.now() - began).toBeLessThan(3000)
})

test('a deaf agent gets its grace, then TERM, then KILL', async () => {
  const cwd = makeProject({
    agent: sh(`trap '' INT TERM`, 'echo started', 'while :; do tail -f /dev/null; done'),
  })
  const run = new Running(['agent'], { cwd })
  await run.printed('started')
  const began = performance.now()
  run.signal('SIGINT')
  const { code, stdout } = await run.finished
  const seconds = (performance.now() - began) / 1000
  expect(code).toBe(130)
  expect(seconds).toBeGreaterThan(11)
  expect(seconds).toBeLessThan(16)
  expect(stdout).toContain('Ended a process left running')
})

test('an interrupt is obeyed though it was ignored when the program was started', async () => {
  const cwd = makeProject({ agent: waits, start: sh(`trap '' INT`, 'exec forkhestra agent') })
  const { FORKHESTRA } = await import('./support/forkhestra.ts')
  const path = `${join(FORKHESTRA, '..')}:${cwd}:${process.env['PATH']}`
  const child = Bun.spawn([join(cwd, 'start')], {
    cwd,
    env: { PATH: path, HOME: cwd, XDG_STATE_HOME: cwd },
    stdout: 'pipe',
  })
  const reader = child.stdout.getReader()
  let text = ''
  while (!text.includes('started')) {
    const { value } = await reader.read()
    text += new TextDecoder().decode(value)
  }
  child.kill('SIGINT')
  expect(await child.exited).toBe(130)
})

test('under nohup a hang-up is ignored', async () => {
  const cwd = makeProject({
    agent: sh('echo started', 'while [ ! -e go ]; do sleep 0.05; done', 'echo finished'),
    start: sh(`trap '' HUP`, 'exec forkhestra agent'),
  })
  const { FORKHESTRA } = await import('./support/forkhestra.ts')
  const child = Bun.spawn([join(cwd, 'start')], {
    cwd,
    env: {
      PATH: `${join(FORKHESTRA, '..')}:${cwd}:${process.env['PATH']}`,
      HOME: cwd,
      XDG_STATE_HOME: cwd,
    },
    stdout: Bun.file(join(cwd, 'out')),
  })
  while (
    !existsSync(join(cwd, 'out')) ||
    !readFileSync(join(cwd, 'out'), 'utf8').includes('started')
  ) {
    await Bun.sleep(10)
  }
  child.kill('SIGHUP')
  await Bun.write(join(cwd, 'go'), '')
  expect(await child.exited).toBe(0)
  expect(readFileSync(join(cwd, 'out'), 'utf8')).toContain('finished')
})

test('nothing of the run survives a signal: other sessions, empty environments, daemons', async () => {
  const cwd = makeProject({
    agent: sh(
      'tail -f /dev/null & echo $! >> pids',
      'setsid tail -f /dev/null & echo $! >> pids',
      'env -i setsid tail -f /dev/null & echo $! >> pids',
      "(setsid env -i sh -c 'echo $$ >> pids; exec tail -f /dev/null' &)",
      'while [ "$(wc -l < pids)" -lt 4 ]; do sleep 0.02; done',
      'echo started',
      'exec tail -f /dev/null',
    ),
  })
  const run = new Running(['agent'], { cwd })
  await run.printed('started')
  const began = performance.now()
  run.signal('SIGINT')
  const { code } = await run.finished
  expect(code).toBe(130)
  expect(performance.now() - began).toBeLessThan(1500)
  const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)
  expect(pids).toHaveLength(4)
  expect(pids.filter(isAlive)).toEqual([])
})

test('a signal between iterations starts no further one', async () => {
  const cwd = makeProject({ agent: sh('kill -TERM $PPID', 'sleep 0.2') })
  const { code, stdout } = await new Running(['agent:50'], { cwd }).finished
  expect(code).toBe(143)
  expect(stdout).not.toContain('Iteration 2/50')
})

test('a marker that was already given still completes its step when the run is interrupted', async () => {
  const cwd = makeProject({
    agent: sh('echo ORCHESTRA_COMPLETE', 'exec tail -f /dev/null'),
    later: sh('echo never'),
  })
  const run = new Running(['agent:2 -> later'], { cwd })
  await run.printed('ORCHESTRA_COMPLETE')
  run.signal('SIGINT')
  const { code, stdout } = await run.finished
  expect(code).toBe(130)
  expect(stdout).toContain('1. agent: complete (1/2 iterations, marker)')
  expect(stdout).toContain('2. later: incomplete')
})
