import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sh } from '../support/project.ts'
import { CLAUDE, eventsOf, openStage, outcomes } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

test('an iteration reports session, model and usage', async () => {
  const usage = { input: 1000, output: 200, cacheRead: 30, cacheWrite: 4 }
  const script = [
    { tool: bash('true'), usage },
    { ...DONE, usage },
  ]
  await using stage = await openStage({ script, ...writes() })
  const [ended] = eventsOf(await stage.runJson('--chain', 'w'), 'iteration_ended')
  expect(ended?.usage).toEqual({
    session: expect.stringMatching(/^[0-9a-f-]{36}$/),
    model: expect.stringContaining('sonnet'),
    billing: 'api',
    turns: 2,
    costUsd: expect.any(Number),
    tokens: { input: 2000, output: 400, cacheRead: 60, cacheWrite: 8 },
  })
  expect(ended?.usage?.costUsd).toBeGreaterThan(0)
})

test('output of claude is shown while it runs', async () => {
  const script = [{ text: 'I wait.', tool: bash('read go <gate') }, DONE]
  await using stage = await openStage({ script, ...writes() })
  await stage.shell('mkfifo gate')
  const running = stage.start(['--chain', 'w'])
  await running.printed('I wait.\n')
  expect(running.stdout).not.toContain('ORCHESTRA_COMPLETE')
  await running.printed('[Bash] ')
  writeFileSync(join(stage.cwd, 'gate'), 'go\n')
  expect((await running.finished).code).toBe(0)
})

test('a replacement for claude that prints plain text works', async () => {
  const claude = sh(
    'echo "called with: $#"',
    'echo "I say it in plain words."',
    'echo "on stderr" >&2',
    'if [ "$FORKHESTRA_ITERATION" = 2 ]; then echo "**ORCHESTRA_COMPLETE**"; fi',
  )
  await using stage = await openStage({ script: [DONE], ...writes(), files: { claude } })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(stdout).toContain('Iteration 1/3\ncalled with: 13\nI say it in plain words.\n')
  expect(stdout).toContain('**ORCHESTRA_COMPLETE**\n[forkhestra] Complete after 2 iterations')
  expect([code, stderr]).toEqual([0, 'on stderr\non stderr\n'])
  expect(stage.asks).toEqual([])
})

test('lines of a wrapper between events are text, and its exit code is ignored', async () => {
  const claude = sh('echo "Entering the container"', `"${CLAUDE}" "$@"`, 'exit 7')
  await using stage = await openStage({ script: [DONE], ...writes(), files: { claude } })
  const result = await stage.runJson('--chain', 'w')
  const said = eventsOf(result, 'message').map(({ text }) => text)
  expect(said).toEqual(['Entering the container', DONE.text])
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
})

test("a user's chain can be tried with forkhestra fake-model", async () => {
  const night = JSON.stringify([{ text: 'One page.' }, DONE])
  await using stage = await openStage({
    script: [{ text: 'never' }],
    ...writes(),
    files: { 'night.jsonc': night },
  })
  const { code, stdout, stderr } = await stage.shell(
    'forkhestra fake-model night.jsonc -- forkhestra --chain w',
  )
  expect(stdout).toContain('One page.\n[forkhestra] Iteration 2/3\nAll is written.\n')
  expect([code, stderr]).toEqual([0, ''])
  expect(stage.asks).toEqual([])
})

test('the record of a run has the messages and no key', async () => {
  await using stage = await openStage({ script: [DONE], ...writes() })
  const key = stage.env['ANTHROPIC_API_KEY']
  expect((await stage.run('--chain', 'w')).code).toBe(0)
  const find = async (words: string) =>
    (await stage.shell(`grep -rlF "${words}" forge/orch/runs`)).code
  expect([await find('All is written.'), await find(String(key))]).toEqual([0, 1])
})

test('started inside another claude, it is a separate session', async () => {
  const outer = '99999999-2222-4333-8444-555555555555'
  const nested = {
    CLAUDECODE: '1',
    CLAUDE_CODE_ENTRYPOINT: 'cli',
    CLAUDE_CODE_SESSION_ID: outer,
    CLAUDE_CODE_CHILD_SESSION: '1',
  }
  const show = bash('echo "$FORKHESTRA_AGENT $FORKHESTRA_ITERATION $CLAUDE_CODE_ENTRYPOINT"')
  await using stage = await openStage({ script: [{ tool: show }, DONE], env: nested, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(stage.asks[1]?.results).toEqual(['writer 1 sdk-cli'])
  const [ended] = eventsOf(result, 'iteration_ended')
  expect(ended?.usage?.session).not.toBe(outer)
})

test('a command that exceeds its timeout does not keep claude alive', async () => {
  const tool = { name: 'Bash', input: { command: 'tail -s 9999 -f /dev/null', timeout: 500 } }
  await using stage = await openStage({ script: [{ tool }, DONE], ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
  expect(eventsOf(result, 'run_ended')[0]?.leftovers).toEqual([])
})

test('only --verbose shows sub-agents', async () => {
  const ask = {
    name: 'Agent',
    input: { description: 'Help', prompt: 'Do a part.', subagent_type: 'general-purpose' },
  }
  const script = {
    conversations: [
      {
        when: { prompt: '^Do a part' },
        turns: [{ tool: bash('echo part') }, { text: 'A part.' }],
        repeat: true,
      },
      { turns: [{ tool: ask }, DONE], repeat: true },
    ],
  }
  await using stage = await openStage({ script, ...writes() })
  const quiet = await stage.run('--chain', 'w')
  expect(quiet.stdout).toContain('[Agent] Help\nAll is written.\n')
  const verbose = await stage.run('--chain', 'w', '--verbose')
  expect(verbose.stdout).toContain('[Agent] Help\n[Bash] echo part\nAll is written.\n')
})
