import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORKHESTRA, environment } from '../support/forkhestra.ts'
import { processesOf } from './support/processes.ts'
import { openStage, outcomes, parseEvents, reasons, type Stage } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const FOREVER = 'tail -s 9999 -f /dev/null'

/** A command that never ends, with a grandchild in a session of its own; tells the gate when it waits. */
const HANGING = bash(`(setsid ${FOREVER} &); echo "$FORKHESTRA_RUN_ID" >gate; ${FOREVER}`)

/** What the next one writes to a pipe of the project. */
async function comesThrough(stage: Stage, pipe: string): Promise<string> {
  return (await stage.shell(`cat ${pipe}`)).stdout.trim()
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s in the middle of a tool leaves nothing running', async (signal, exitCode) => {
  await using stage = await openStage({ script: [{ tool: HANGING }, DONE], ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w', '--json'])
  const run = await comesThrough(stage, 'gate')
  expect(processesOf(run).length).toBeGreaterThanOrEqual(3)
  running.signal(signal)
  const { code, stdout } = await running.finished
  expect(processesOf(run)).toEqual([])
  const told = { code, stderr: '', events: parseEvents(stdout) }
  expect(outcomes(told)).toEqual([{ kind: 'interrupted' }])
  expect([code, reasons(told), stage.asks.length]).toEqual([exitCode, ['interrupted'], 1])
})

test('a command that is deaf to signals is ended as well', async () => {
  const deaf = bash(`trap '' INT TERM; echo "$FORKHESTRA_RUN_ID" >gate; while :; do ${FOREVER}; done`)
  await using stage = await openStage({ script: [{ tool: deaf }, DONE], ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w'])
  const run = await comesThrough(stage, 'gate')
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(processesOf(run)).toEqual([])
})

test('a signal while the model thinks ends claude, which ends with exit code 0', async () => {
  const script = [{ text: 'never', delayMs: 3_600_000 }]
  await using stage = await openStage({ script, ...writes() })
  const running = stage.start(['--chain', 'w', '--json'])
  await stage.asked
  running.signal('SIGINT')
  const { code, stdout } = await running.finished
  const told = { code, stderr: '', events: parseEvents(stdout) }
  expect(outcomes(told)).toEqual([{ kind: 'interrupted' }])
  expect(code).toBe(130)
})

test('what claude leaves running is ended and named at the end of the run', async () => {
  const leave = bash(`setsid ${FOREVER} >/dev/null 2>&1 </dev/null & echo started`)
  await using stage = await openStage({ script: [{ tool: leave }, DONE], ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout).toContain('[forkhestra] Ended a process left running: tail (pid ')
  expect(code).toBe(0)
})

test('four chains at once share a home and do not disturb each other', async () => {
  const turns = [{ tool: bash('pwd >here') }, DONE]
  const script = { conversations: [{ sessions: [turns, turns, turns, turns] }] }
  await using stage = await openStage({ script, ...writes() })
  await stage.shell('mkdir one two three four')
  const names = ['one', 'two', 'three', 'four']
  const config = join(stage.cwd, 'forge/orch/chains.json')
  const runs = names.map(
    (name) => stage.start(['--chain', 'w', '--cwd', name, '--config', config]).finished,
  )
  for (const { code, stderr } of await Promise.all(runs)) expect([code, stderr]).toEqual([0, ''])
  for (const name of names) {
    const folder = join(stage.cwd, name)
    expect(readFileSync(join(folder, 'here'), 'utf8').trim()).toBe(folder)
  }
  const state = readFileSync(join(stage.home, '.claude.json'), 'utf8')
  expect(() => JSON.parse(state) as unknown).not.toThrow()
  expect(stage.model.unused).toEqual([])
})

/** Runs the program as root, or as one who believes to be. */
async function asRoot(stage: Stage, args: readonly string[]) {
  const { IS_SANDBOX: _, ...env } = stage.env
  const become = process.getuid?.() === 0 ? [] : ['unshare', '-r']
  const child = Bun.spawn([...become, FORKHESTRA, ...args], {
    cwd: stage.cwd,
    env: environment({ cwd: stage.cwd, env }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return { code: await child.exited, stdout, stderr }
}

test('root without a sandbox is refused before anything starts, with the way out', async () => {
  await using stage = await openStage({ script: [DONE], ...writes() })
  const { code, stdout, stderr } = await asRoot(stage, ['--chain', 'w'])
  expect(stderr).toContain(
    "Agent 'writer' works without asking for permission, and claude refuses that to root.",
  )
  expect(stderr).toContain('IS_SANDBOX=1')
  expect([code, stdout, stage.model.requests]).toEqual([2, '', []])
})

test('root without a sandbox may use a permission mode', async () => {
  await using stage = await openStage({
    script: [DONE],
    ...writes({ permissionMode: 'acceptEdits' }),
  })
  const { code } = await asRoot(stage, ['--chain', 'w'])
  expect([code, stage.asks.length]).toEqual([0, 1])
})
