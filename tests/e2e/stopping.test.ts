import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORKHESTRA, environment } from '../support/forkhestra.ts'
import { processesOf } from './support/processes.ts'
import { openStage, outcomes, parseEvents, reasons, type Stage } from './support/stage.ts'
import { bash, DONE, FOREVER, writes } from './support/writer.ts'

/** A command that never ends, with a grandchild in a separate session; opens the gate when it waits. */
const HANGING = bash(`(setsid ${FOREVER} &); echo "$FORKHESTRA_RUN_ID" >gate; ${FOREVER}`)

/** What the next writer sends through a pipe of the project. */
async function readPipe(stage: Stage, pipe: string): Promise<string> {
  return (await stage.shell(`cat ${pipe}`)).stdout.trim()
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s during a tool call leaves nothing running', async (signal, exitCode) => {
  await using stage = await openStage({ script: [{ tool: HANGING }, DONE], ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w', '--json'])
  const run = await readPipe(stage, 'gate')
  expect(processesOf(run).length).toBeGreaterThanOrEqual(3)
  running.signal(signal)
  const { code, stdout } = await running.finished
  expect(processesOf(run)).toEqual([])
  const result = { code, stderr: '', events: parseEvents(stdout) }
  expect(outcomes(result)).toEqual([{ kind: 'interrupted' }])
  expect([code, reasons(result), stage.asks.length]).toEqual([exitCode, ['interrupted'], 1])
})

test('a signal to a bundled agent reaches its claude and its commands', async () => {
  await using stage = await openStage({ script: [{ tool: HANGING }, DONE] })
  await stage.shell('mkfifo gate')
  const running = stage.start(['task-worker:2', '-p', 'Work.'])
  const inner = await readPipe(stage, 'gate')
  running.signal('SIGTERM')
  expect((await running.finished).code).toBe(143)
  expect(processesOf(inner)).toEqual([])
})

test('a signal to fake-model reaches its chain', async () => {
  const files = { 'night.jsonc': JSON.stringify([{ tool: HANGING }]) }
  await using stage = await openStage({ script: [DONE], files, ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['fake-model', 'night.jsonc', '--', FORKHESTRA, '--chain', 'w'])
  const run = await readPipe(stage, 'gate')
  running.signal('SIGINT')
  const { code, stdout } = await running.finished
  expect(stdout).toContain('Failed at step 1: writer (interrupted by SIGINT)')
  expect(code).toBe(130)
  expect(processesOf(run)).toEqual([])
})

test('a command that ignores signals is killed', async () => {
  const deaf = bash(
    `trap '' INT TERM; echo "$FORKHESTRA_RUN_ID" >gate; while :; do ${FOREVER}; done`,
  )
  await using stage = await openStage({ script: [{ tool: deaf }, DONE], ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w'])
  const run = await readPipe(stage, 'gate')
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  expect(processesOf(run)).toEqual([])
})

test('a signal during a request ends the run, and no long prompt stays on disk', async () => {
  const script = [{ text: 'never', delayMs: 3_600_000 }]
  const files = { 'long.md': 'A long line.\n'.repeat(12_000) }
  const agent = { systemPromptText: '', systemPrompt: 'long.md' }
  await using stage = await openStage({ script, files, ...writes(agent) })
  const running = stage.start(['--chain', 'w', '--json', '--prompt-file', 'long.md'])
  await stage.asked
  running.signal('SIGINT')
  const { code, stdout } = await running.finished
  const result = { code, stderr: '', events: parseEvents(stdout) }
  expect(outcomes(result)).toEqual([{ kind: 'interrupted' }])
  expect(code).toBe(130)
  const left = readdirSync(stage.temp).filter((name) => name.startsWith('forkhestra'))
  expect(left).toEqual([])
})

test('a closed output pipe ends the run', async () => {
  const wait = bash('echo "$FORKHESTRA_RUN_ID" >gate; read line <closed')
  const script = [{ tool: wait }, { text: 'Does anybody hear me?', tool: bash(FOREVER) }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const { stdout } = await stage.shell(`mkfifo gate closed
forkhestra --chain w | { cat gate >run; exec <&-; echo "Go on" >closed; }
echo "\${PIPESTATUS[0]}"`)
  expect(stdout).toBe('143\n')
  expect(processesOf(readFileSync(join(stage.cwd, 'run'), 'utf8').trim())).toEqual([])
})

test('processes left by claude are ended and named at the end of the run', async () => {
  const leave = bash(`setsid ${FOREVER} >/dev/null 2>&1 </dev/null & echo started`)
  await using stage = await openStage({ script: [{ tool: leave }, DONE], ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout).toContain('[forkhestra] Ended a leftover process: tail (pid ')
  expect(code).toBe(0)
})

test('four parallel chains with one home do not interfere', async () => {
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
  const state = readFileSync(stage.userState, 'utf8')
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

test.each([
  ['', {}],
  [' that bypasses', { permissionMode: 'bypassPermissions' }],
])('root without a sandbox%s is refused before anything starts', async (_, agent) => {
  await using stage = await openStage({ script: [DONE], ...writes(agent) })
  const { code, stdout, stderr } = await asRoot(stage, ['--chain', 'w'])
  expect(stderr).toContain(
    "Agent 'writer' skips permission prompts, which claude refuses to do as root.",
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
