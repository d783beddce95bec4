import { expect, test } from 'bun:test'
import { commands, eventsOf, openStage, outcomes } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const once = { iterations: 1 }

test('a prompt and system prompt changed by an iteration apply to the next', async () => {
  const files = { 'system.md': 'System one.', 'prompt.md': 'Prompt one.' }
  const agent = { systemPromptText: '', systemPrompt: 'system.md' }
  const change = bash('printf "System two." >system.md; printf "Prompt two." >prompt.md')
  const script = [{ tool: change }, { text: 'Changed.' }, DONE]
  const step = { iterations: 2, prompt: '', promptFile: 'prompt.md' }
  await using stage = await openStage({ script, files, ...writes(agent, step) })
  const { code } = await stage.run('--chain', 'w')
  const [first, second, third] = stage.asks
  expect([first?.prompt, second?.prompt, third?.prompt]).toEqual([
    'Prompt one.',
    'Prompt one.',
    'Prompt two.',
  ])
  expect(first?.system).toContain('System one.')
  expect(third?.system).toContain('System two.')
  expect(third?.system).not.toContain('System one.')
  expect(code).toBe(0)
})

test.each([
  ['a dash', '--help'],
  ['a dash and a name', '-p is no option'],
  ['a slash', '/no-such-command at all'],
  ['many lines', '\n\nÄ line\n"quoted" $HOME `x`\n'],
])('a prompt that starts with %s arrives unchanged', async (_, prompt) => {
  await using stage = await openStage({ script: [DONE], ...writes({}, { ...once, prompt }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
  expect(stage.asks[0]?.prompt).toContain(prompt.trim())
})

test('without a prompt claude gets one fixed line', async () => {
  await using stage = await openStage({ script: [DONE], ...writes({}, { ...once, prompt: '' }) })
  const result = await stage.runJson('--chain', 'w')
  const line = 'Carry out your instructions for this iteration.'
  expect(stage.asks[0]?.prompt).toBe(line)
  expect(commands(result)[0]?.at(-1)).toBe(line)
  expect(eventsOf(result, 'iteration_started')[0]?.prompt).toEqual({ level: 'built-in' })
})

test('a dry run calls no model and shows the command', async () => {
  await using stage = await openStage({ script: [DONE], ...writes({}, { ...once, prompt: '' }) })
  const { code, stdout } = await stage.run('--chain', 'w', '--dry-run')
  expect(stdout).toContain('1. writer - loop up to 1 iteration\n       prompt: (built-in)\n')
  expect([code, stage.model.requests]).toEqual([0, []])
})

test('a slash command of the project is executed', async () => {
  const files = { '.claude/commands/page.md': 'Write a page about $ARGUMENTS.\n' }
  const step = { ...once, prompt: '/page bees' }
  await using stage = await openStage({ script: [DONE], files, ...writes({}, step) })
  const { code } = await stage.run('--chain', 'w')
  expect(stage.asks[0]?.prompt).toContain('Write a page about bees.')
  expect(code).toBe(0)
})

test('a system prompt that vanishes fails the step', async () => {
  const agent = { systemPromptText: '', systemPrompt: 'system.md' }
  const files = { 'system.md': 'You vanish.' }
  const script = [{ tool: bash('rm system.md') }, { text: 'Gone.' }]
  await using stage = await openStage({ script, files, ...writes(agent, { iterations: 3 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({ reason: 'error', iterations: 2 })
  expect(eventsOf(result, 'step_ended')[0]?.detail).toContain('system.md')
  expect(result.code).toBe(1)
})
