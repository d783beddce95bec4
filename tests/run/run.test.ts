import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'

/** Counts its own calls and gives the marker at the third. */
const third = sh(
  'n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n',
  'echo "call $n"',
  '[ $n -ge 3 ] && echo ORCHESTRA_COMPLETE',
  'exit 0',
)

test('a pipeline runs each agent once and prints the exact lines', async () => {
  const cwd = makeProject({ manager: sh('echo planning'), coordinator: sh('echo building') })
  const { code, stdout, stderr } = await forkhestra(['manager -> coordinator'], { cwd })
  expect(stdout).toBe(`[forkhestra] Running: manager
planning
[forkhestra] Done: manager (exit 0)

[forkhestra] Running: coordinator
building
[forkhestra] Done: coordinator (exit 0)

  1. manager: complete (exit 0)
  2. coordinator: complete (exit 0)
[forkhestra] Pipeline complete (2/2 steps)
`)
  expect(stderr).toBe('')
  expect(code).toBe(0)
})

test('a loop runs until the marker and prints the exact lines', async () => {
  const cwd = makeProject({ agent: third, once: sh('echo ORCHESTRA_COMPLETE') })
  const { code, stdout } = await forkhestra(['agent:5 -> once:10'], { cwd })
  expect(stdout).toBe(`[forkhestra] Starting: agent (max 5 iterations)
[forkhestra] Iteration 1/5
call 1
[forkhestra] Iteration 2/5
call 2
[forkhestra] Iteration 3/5
call 3
ORCHESTRA_COMPLETE
[forkhestra] Complete after 3 iterations

[forkhestra] Starting: once (max 10 iterations)
[forkhestra] Iteration 1/10
ORCHESTRA_COMPLETE
[forkhestra] Complete after 1 iteration

  1. agent: complete (3/5 iterations, marker)
  2. once: complete (1/10 iterations, marker)
[forkhestra] Chain complete (2/2 steps)
`)
  expect(code).toBe(0)
})

test('a loop of one step ends with one line', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE') })
  const { stdout } = await forkhestra(['agent:1'], { cwd })
  expect(stdout).toBe(`[forkhestra] Starting: agent (max 1 iteration)
[forkhestra] Iteration 1/1
ORCHESTRA_COMPLETE
[forkhestra] Complete after 1 iteration

[forkhestra] Chain complete (1/1 steps)
`)
})

test('a chain stops at the first step that does not complete and exits 1', async () => {
  const cwd = makeProject({ ok: sh('exit 0'), never: sh('exit 0'), last: sh('echo last') })
  const { code, stdout, stderr } = await forkhestra(['ok -> never:2 -> last'], { cwd })
  expect(code).toBe(1)
  expect(stdout).toEndWith(`[forkhestra] Iteration 2/2
[forkhestra] Not complete after 2 iterations

  1. ok: complete (exit 0)
  2. never: incomplete (2/2 iterations, max iterations reached)
  3. last: not started
[forkhestra] Chain incomplete (1/3 steps)
[forkhestra] Failed at step 2: never (max iterations reached, 2/2)
`)
  expect(stderr)
    .toStartWith(`[forkhestra] The agent never printed ORCHESTRA_COMPLETE on its own line, which completes a loop; see docs/reference/marker.md
[forkhestra] Record of the run: `)
})

test('a run-once agent fails with a non-zero exit code', async () => {
  const cwd = makeProject({ agent: sh('exit 3') })
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(1)
  expect(stdout).toEndWith(`[forkhestra] Done: agent (exit 3)

  1. agent: incomplete (exit 3)
[forkhestra] Pipeline incomplete (0/1 steps)
[forkhestra] Failed at step 1: agent (exit 3)
`)
})

test('the signal that killed an agent is shown', async () => {
  const cwd = makeProject({ agent: sh('kill -SEGV $$') })
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(1)
  expect(stdout).toContain('[forkhestra] Done: agent (killed by SIGSEGV)')
  expect(stdout).toEndWith('[forkhestra] Failed at step 1: agent (killed by SIGSEGV)\n')
})

test('in a loop a failed iteration is a warning and the next one runs', async () => {
  const cwd = makeProject({
    agent: sh('[ $FORKHESTRA_ITERATION = 1 ] && exit 9', 'echo ORCHESTRA_COMPLETE', 'exit 5'),
  })
  const { code, stdout, stderr } = await forkhestra(['agent:4'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toBe('[forkhestra] Iteration 1/4: exit 9\n')
  expect(stdout).toContain('Complete after 2 iterations')
})

test('run once does not look for the marker', async () => {
  const cwd = makeProject({ agent: sh('echo ORCHESTRA_COMPLETE', 'exit 1') })
  expect((await forkhestra(['agent'], { cwd })).code).toBe(1)
})

test('an agent knows where in the run it is, and its stdin is closed', async () => {
  const cwd = makeProject({
    agent: sh(
      'cat',
      'echo "$FORKHESTRA_STEP $FORKHESTRA_AGENT $FORKHESTRA_ITERATION/$FORKHESTRA_MAX_ITERATIONS"',
      '[ -n "$FORKHESTRA_RUN_ID" ] && [ "$FORKHESTRA_RUN_PATH" = "$FORKHESTRA_RUN_ID" ] && echo ids',
      'echo "pwd $PWD"',
    ),
  })
  const { stdout } = await forkhestra(['agent -> agent:2'], { cwd })
  expect(stdout).toContain(`1 agent 1/1\nids\npwd ${cwd}\n`)
  expect(stdout).toContain('2 agent 2/2\nids\n')
})

test('variables that mark a nested coding CLI are not passed on; credentials are', async () => {
  const cwd = makeProject({ agent: sh('env > env.txt') })
  const env = {
    CLAUDECODE: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    BUN_OPTIONS: '--smol',
    CLAUDE_CODE_OAUTH_TOKEN: 'fake-token',
    CLAUDE_CODE_USE_BEDROCK: '1',
  }
  await forkhestra(['agent'], { cwd, env })
  const got = `\n${readFileSync(join(cwd, 'env.txt'), 'utf8')}`
  for (const name of ['CLAUDECODE=', 'CLAUDE_CODE_ENTRYPOINT=', 'BUN_OPTIONS=']) {
    expect(got).not.toContain(`\n${name}`)
  }
  for (const line of [
    'CLAUDE_CODE_OAUTH_TOKEN=fake-token',
    'CLAUDE_CODE_USE_BEDROCK=1',
    'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1',
  ]) {
    expect(got).toContain(`\n${line}\n`)
  }
})

test('each agent has its own session and process group', async () => {
  const cwd = makeProject({ agent: sh('cut -d" " -f1,5,6 /proc/$$/stat') })
  const { stdout } = await forkhestra(['agent'], { cwd })
  const [pid, group, session] = /^(\d+) (\d+) (\d+)$/m.exec(stdout)!.slice(1)
  expect([group, session]).toEqual([pid, pid])
})

test('the folder of our own programs is at the end of the PATH of agents', async () => {
  const cwd = makeProject({ agent: sh('forkhestra --version', 'echo "$PATH"') })
  const { code, stdout } = await forkhestra(['agent'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toMatch(/^\/.*\/bin$/m)
})

test('arguments after -- go to every agent, before the step’s own and before the prompt', async () => {
  const cwd = makeProject({
    agent: sh('for a in "$@"; do echo "<$a>"; done'),
    'forge/orch/chains.json':
      '{"chains":{"c":{"steps":[{"agent":"agent","args":["--own","two words"],"prompt":"-do it"}]}}}',
  })
  const { stdout } = await forkhestra(['--chain', 'c', '--', '--all', '-v', '--'], { cwd })
  expect(stdout).toContain('<--all>\n<-v>\n<-->\n<--own>\n<two words>\n<-do it>\n')
})

test('--cwd sets the working directory of agents and is not passed to them', async () => {
  const cwd = makeProject({ agent: sh('pwd', 'echo "$# arguments"'), 'sub/x': '' })
  const { stdout } = await forkhestra(['agent', '--cwd', 'sub'], { cwd })
  expect(stdout).toContain(`${cwd}/sub\n0 arguments\n`)
})

test('a script without a shebang is run by the shell', async () => {
  const cwd = makeProject({ agent: sh('echo never') })
  writeFiles(cwd, { agent: 'echo "from sh: $1"\n' })
  const { stdout } = await forkhestra(['agent', '-p', 'hi'], { cwd })
  expect(stdout).toContain('from sh: hi\n')
})

test('-v shows the command, the source of the prompt and the duration', async () => {
  const cwd = makeProject({ agent: sh('true') })
  const { stdout } = await forkhestra(['agent:1', '-v', '-p', 'hello'], { cwd })
  expect(stdout).toContain(`[forkhestra]   command: ["${cwd}/agent","hello"]\n`)
  expect(stdout).toContain('[forkhestra]   prompt from: command line\n')
  expect(stdout).toMatch(/\[forkhestra\] {3}took \d+\.\d s, printed 0 bytes\n/)
})

test('a loop whose agent keeps failing reports the failures', async () => {
  const cwd = makeProject({ agent: sh('exit 4') })
  const { stderr } = await forkhestra(['agent:2'], { cwd })
  expect(stderr).toContain(
    '[forkhestra] The agent failed in 2 of 2 iterations; last failure: exit 4\n',
  )
})
