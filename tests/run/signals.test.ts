import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { run as runAgent } from '../../src/index.ts'
import { forkhestra, isAlive, Running, shell } from '../support/forkhestra.ts'
import { makeChain, startChain } from '../support/chains.ts'
import { openChat } from '../support/chat.ts'
import { TaskProject, taskText } from '../support/forge-tasks.ts'
import { openNative } from '../support/native.ts'
import { makeProject, sh } from '../support/project.ts'
import { openBoard, type Pty } from '../support/pty.ts'
import { makeQueueProject, runPrompt, tasksOf } from '../support/queue.ts'
import { until } from '../support/until.ts'

const waits = sh('echo started', 'exec tail -f /dev/null')
const deaf = sh(`trap '' INT TERM`, 'echo started', 'while :; do tail -f /dev/null; done')

/** Far longer than a test may last: whatever waits for it fails. */
const LONG_GRACE = { grace: { marker: '1h', term: '1h' } }

const signals = [
  ['SIGINT', 'SIGINT', 130],
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGHUP', 'SIGHUP', 129],
  ['SIGABRT', 'SIGTERM', 143],
  ['SIGALRM', 'SIGTERM', 143],
  ['SIGIO', 'SIGTERM', 143],
  ['SIGPROF', 'SIGTERM', 143],
  ['SIGSYS', 'SIGTERM', 143],
  ['SIGVTALRM', 'SIGTERM', 143],
  ['SIGXCPU', 'SIGTERM', 143],
] as const

test.each(signals)(
  '%s reaches the agent as %s, ends the run and gives exit code %d',
  async (signal, received, code) => {
    const cwd = makeProject({
      agent: sh(
        `trap 'echo got ${received}; exit 7' ${received.slice(3)}`,
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
    expect(stdout).toContain(`got ${received}`)
    expect(stdout).not.toContain('Iteration 2/3')
    expect(stdout).toEndWith(`
  1. agent: incomplete (0/3 iterations, interrupted by ${signal})
  2. later: not started
[forkhestra] Chain incomplete (0/2 steps)
[forkhestra] Failed at step 1: agent (interrupted by ${signal})
`)
  },
)

test('a second signal kills an agent that ignores the first', async () => {
  const run = startChain(makeChain([{ agent: 'agent', ...LONG_GRACE }], { agent: deaf }))
  await run.printed('started')
  run.signal('SIGINT')
  await until(() => run.stderr.includes('press Ctrl-C again'))
  run.signal('SIGINT')
  expect((await run.finished).code).toBe(130)
})

test('an agent that ignores signals gets its grace period, then TERM, then KILL', async () => {
  const run = startChain(makeChain([{ agent: 'agent', grace: { term: '3s' } }], { agent: deaf }))
  await run.printed('started')
  const began = performance.now()
  run.signal('SIGINT')
  const { code, stdout } = await run.finished
  const seconds = (performance.now() - began) / 1000
  expect(code).toBe(130)
  // Three until TERM, and some more until KILL.
  expect(seconds).toBeGreaterThan(4)
  expect(stdout).toContain('Ended a leftover process')
})

test('SIGINT works even if it was ignored when forkhestra started', async () => {
  const cwd = makeProject({ agent: sh('kill -INT $PPID', 'exec tail -f /dev/null') })
  const { stdout } = await shell("trap '' INT; forkhestra agent; echo $?", cwd)
  expect(Buffer.from(stdout).toString()).toEndWith('130\n')
})

test('SIGHUP is ignored under nohup', async () => {
  const cwd = makeProject({
    agent: sh('kill -HUP $PPID', 'grep SigIgn /proc/$PPID/status', 'echo finished'),
  })
  const { stdout } = await shell("trap '' HUP; forkhestra agent; echo $?", cwd)
  // SIGHUP is signal 1, the lowest bit.
  expect(Buffer.from(stdout).toString()).toMatch(/SigIgn:\t\w+[13579bdf]\nfinished\n/)
  expect(Buffer.from(stdout).toString()).toEndWith('\n0\n')
})

test('SIGUSR1 and SIGUSR2 do not kill a run, and keep their default for agents', async () => {
  const both = 'kill -USR1 $PPID; kill -USR2 $PPID'
  const cwd = makeProject({
    agent: sh(both, both, 'grep SigIgn /proc/self/status', 'echo finished'),
  })
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect([code, stdout]).toEqual([
    0,
    expect.stringContaining('SigIgn:\t0000000000000000\nfinished\n'),
  ])
})

test.each(['forkhestra mcp', 'forge-tasks mcp'])(
  'SIGUSR1 and SIGUSR2 do not kill %s',
  async (command) => {
    const cwd = makeProject()
    const line = `mkfifo in; (exec 9<>in; ${command} <in >out 2>&1 & echo $! >pid; wait $!; echo $? >code) &`
    const poke =
      'kill -USR1 $(cat pid); kill -USR2 $(cat pid); kill -TERM $(cat pid); wait; cat code'
    const ready =
      'until grep -q SigCgt:.*[8-f].. /proc/$(cat pid 2>/dev/null)/status; do :; done 2>/dev/null'
    const { stdout } = await shell(`${line} ${ready}; ${poke}`, cwd)
    expect(['0', '143']).toContain(Buffer.from(stdout).toString().trim())
  },
)

test('SIGUSR1 and SIGUSR2 do not kill run-queue', async () => {
  const both = 'kill -USR1 $PPID; kill -USR2 $PPID'
  const cwd = makeQueueProject(`forkhestra push name=t '${both}; sleep 0.1; ${both}'`)
  const { code: pushed } = await runPrompt(cwd)
  const { code } = await forkhestra(['run-queue'], { cwd })
  expect([pushed, code]).toEqual([0, 0])
  expect(await tasksOf(cwd)).toMatchObject([{ name: 't', end: { success: true } }])
})

/** What is shown afterwards was drawn by a program that is still there. */
function signalBoth({ pid }: Pty): void {
  process.kill(pid, 'SIGUSR1')
  process.kill(pid, 'SIGUSR2')
}

test('SIGUSR1 and SIGUSR2 do not kill chat', async () => {
  await using stage = await openNative([{ text: 'Hello.' }])
  await using chat = openChat(stage)
  await chat.shows('/help')
  signalBoth(chat)
  chat.type('Hi\r')
  await chat.shows('Hello.')
  signalBoth(chat)
  chat.type('/exit\r')
  expect(await chat.exited).toBe(0)
})

test('SIGUSR1 and SIGUSR2 do not kill the board', async () => {
  const { root: cwd } = new TaskProject({
    'TASK-001 - Login.md': taskText(['id: TASK-001', 'title: Login', 'status: To Do']),
  })
  await using board = openBoard({ cwd })
  await board.shows(/To Do 1/)
  signalBoth(board)
  board.type('>')
  await board.shows(/In Progress 1/)
  signalBoth(board)
  board.type('q')
  expect(await board.exited).toBe(0)
})

test('SIGQUIT kills at once', async () => {
  const agent = sh(`trap '' QUIT INT TERM`, 'echo started', 'while :; do sleep 1; done')
  const run = startChain(makeChain([{ agent: 'agent', ...LONG_GRACE }], { agent }))
  await run.printed('started')
  run.signal('SIGQUIT')
  expect((await run.finished).code).toBe(131)
})

test('the first signal prints the grace period and how to kill the agent', async () => {
  const cwd = makeProject({ agent: waits })
  const run = new Running(['agent'], { cwd })
  await run.printed('started')
  run.signal('SIGINT')
  const { stderr } = await run.finished
  expect(stderr).toStartWith(
    '[forkhestra] stopping (SIGINT): 10 s to finish; press Ctrl-C again to kill it now\n',
  )
})

test('children that existed before the run are left alone', async () => {
  const cwd = makeProject({ agent: sh('exit 0') })
  const { stdout } = await shell(
    `bash -c 'tail -f /dev/null > /dev/null 2>&1 & echo $! > pid; exec forkhestra agent'
     kill -0 $(cat pid) && echo alive; kill $(cat pid)
     while kill -0 $(cat pid) 2> /dev/null; do sleep 0.01; done`,
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toEndWith('alive\n')
})

test('nothing of the run survives a signal: other sessions, empty environments, daemons', async () => {
  const cwd = makeChain([{ agent: 'agent', ...LONG_GRACE }], {
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
  const run = startChain(cwd)
  await run.printed('started')
  run.signal('SIGINT')
  const { code } = await run.finished
  expect(code).toBe(130)
  const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split('\n').map(Number)
  expect(pids).toHaveLength(4)
  expect(pids.filter(isAlive)).toEqual([])
})

test('a stop between two iterations starts no further one', async () => {
  const cwd = makeProject({ agent: sh('exit 0') })
  const abort = new AbortController()
  const result = await runAgent({
    agent: './agent',
    cwd,
    loop: true,
    maxIterations: 50,
    signal: abort.signal,
    onEvent: ({ type }) => (type === 'iteration_ended' ? abort.abort() : undefined),
  })
  expect(result).toMatchObject({ iterations: 1, reason: 'interrupted' })
})

test('a marker given before the stop completes its step, and no further step starts', async () => {
  const cwd = makeProject({
    agent: sh('echo ORCHESTRA_COMPLETE', 'exec tail -f /dev/null'),
    later: sh('echo never'),
  })
  const chain = new Running(['agent:2 -> later'], { cwd })
  await chain.printed('ORCHESTRA_COMPLETE')
  chain.signal('SIGINT')
  const { code, stdout } = await chain.finished
  expect(code).toBe(130)
  expect(stdout).toEndWith(`[forkhestra] Complete after 1 iteration

  1. agent: complete (1/2 iterations, marker)
  2. later: not started
[forkhestra] Chain incomplete (1/2 steps)
[forkhestra] Stopped before step 2: later (interrupted by SIGINT)
`)
})

test('a run interrupted after its last marker is shown as complete and interrupted', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE', 'exec tail -f /dev/null') })
  const chain = new Running(['agent:2'], { cwd })
  await chain.printed('ORCHESTRA_COMPLETE')
  chain.signal('SIGINT')
  const { code, stdout } = await chain.finished
  expect(code).toBe(130)
  expect(stdout).toContain(
    '[forkhestra] Chain complete (1/1 steps)\n[forkhestra] The run was interrupted by SIGINT after its last step\n',
  )
})
