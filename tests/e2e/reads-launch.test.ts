import { expect, test } from 'bun:test'
import { act, conversation, leftBehind, prepare, read, results } from './support/reader.ts'
import { openStage } from './support/stage.ts'
import { DONE } from './support/writer.ts'

test('files can be combined with texts too long for the command line', async () => {
  await using stage = await openStage({ files: { 'a.md': 'a' }, script: [DONE] })
  const prompt = `${'p'.repeat(150 * 1024)} end of prompt`
  const systemPrompt = `${'s'.repeat(150 * 1024)} end of system prompt`
  const reads = read(stage, 'a.md')
  const { code } = await act(stage, prepare(stage, { prompt, systemPrompt, reads }))
  expect(conversation(stage, 0).at(-1)?.blocks).toMatchObject([{ type: 'text', text: prompt }])
  expect(stage.asks[0]?.system).toEndWith(systemPrompt)
  expect(results(stage, 0)).toHaveLength(1)
  expect([code, leftBehind(stage)]).toEqual([0, []])
})

test('an agent without the Read tool still gets the files', async () => {
  await using stage = await openStage({ files: { 'a.md': 'a' }, script: [DONE] })
  const agent = { allowedTools: ['Bash'] }
  await act(stage, prepare(stage, { reads: read(stage, 'a.md') }, agent))
  expect(stage.asks[0]?.tools).not.toContain('Read')
  expect(results(stage, 0)).toMatchObject([{ content: '1\ta' }])
})

test('an agent with its own session gets the files in the prompt', async () => {
  await using stage = await openStage({ files: { 'a.md': 'alpha' }, script: [DONE] })
  const args = ['--session-id', crypto.randomUUID()]
  const { code } = await act(stage, prepare(stage, { args, reads: read(stage, 'a.md') }))
  const [said] = conversation(stage, 0)
  expect(said?.blocks[0]?.text).toMatch(
    /<file path="a.md" id="(\w+)">\nalpha\n<\/file id="\1">\n\nThe task\.$/,
  )
  expect([code, results(stage, 0)]).toEqual([0, []])
})

test('if the session is refused, the files can be put into the prompt', async () => {
  await using stage = await openStage({ files: { 'a.md': 'alpha' }, script: [DONE, DONE] })
  const launch = prepare(stage, { reads: read(stage, 'a.md') })
  const files = launch.files!.map((file) => ({ ...file, text: '' }))
  const { code, stderr } = await act(stage, { ...launch, files })
  expect(stderr).toContain('No conversation found')
  expect([code, stage.asks.length]).toEqual([1, 0])
  const instead = launch.fallback?.()
  expect(await act(stage, instead!)).toMatchObject({ code: 0 })
  expect(stage.asks[0]?.prompt).toContain('>\nalpha\n</file id=')

  const taken = await act(stage, prepare(stage, { reads: read(stage, 'a.md') }))
  expect(taken.launch.fallback?.()).toBeUndefined()
})

test('a slash command works after files that were read', async () => {
  const files = { 'a.md': 'a', '.claude/commands/page.md': 'Write about $ARGUMENTS.\n' }
  await using stage = await openStage({ files, script: [DONE] })
  await act(stage, prepare(stage, { prompt: '/page bees', reads: read(stage, 'a.md') }))
  const last = conversation(stage, 0).at(-1)
  expect(last?.blocks.map(({ text }) => text).join('\n')).toContain('Write about bees.')
  expect(results(stage, 0)).toHaveLength(1)
})
