import { expect, test } from 'bun:test'
import { makeTranscript, type Transcript } from './transcript.ts'
import type { FileRead } from '../engine.ts'

const SESSION: Transcript = {
  id: '1b4e28ba-2fa1-41d2-883f-0016d3cca427',
  cwd: '/p',
  model: 'sonnet',
  now: new Date('2026-05-01T10:00:00.000Z'),
}

const good = (path: string, text: string, mtimeMs = 0): FileRead => ({
  path,
  ok: true,
  text,
  mtimeMs,
})
const bad = (path: string, error: string): FileRead => ({ path, ok: false, error })

interface Line {
  readonly type: string
  readonly uuid: string
  readonly parentUuid: string | null
  readonly timestamp: string
  readonly message: {
    readonly role: string
    readonly id?: string
    readonly content: readonly Record<string, unknown>[]
  }
}

function linesOf(reads: readonly FileRead[], session = SESSION): Line[] {
  const text = makeTranscript(reads, session)
  expect(text).toEndWith('}\n')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

test('all files are read in one message and answered in one message', () => {
  const lines = linesOf([good('a.md', 'a\nb'), bad('../x', 'No.'), good('/abs/c.md', 'c')])
  expect(lines.map(({ type, message }) => [type, message.role])).toEqual([
    ['user', 'user'],
    ['assistant', 'assistant'],
    ['user', 'user'],
    ['assistant', 'assistant'],
  ])
  const [, asked, answered] = lines.map(({ message }) => message.content)
  expect(asked).toMatchObject([
    { type: 'tool_use', name: 'Read', input: { file_path: '/p/a.md' } },
    { type: 'tool_use', name: 'Read', input: { file_path: '/x' } },
    { type: 'tool_use', name: 'Read', input: { file_path: '/abs/c.md' } },
  ])
  const ids = asked!.map(({ id }) => id)
  expect(answered).toEqual([
    { tool_use_id: ids[0], type: 'tool_result', content: '1\ta\n2\tb' },
    { tool_use_id: ids[1], type: 'tool_result', content: 'No.', is_error: true },
    { tool_use_id: ids[2], type: 'tool_result', content: '1\tc' },
  ])
})

test('each line has the fields that any version needs, and refers to the previous one', () => {
  const lines = linesOf([good('a.md', 'a')])
  expect(lines.map(({ parentUuid }) => parentUuid)).toEqual([
    null,
    ...lines.slice(0, 3).map(({ uuid }) => uuid),
  ])
  expect(new Set(lines.map(({ uuid }) => uuid)).size).toBe(4)
  for (const line of lines) {
    expect(line).toMatchObject({
      isSidechain: false,
      sessionId: SESSION.id,
      cwd: '/p',
      timestamp: '2026-05-01T10:00:00.000Z',
    })
  }
  const [, asked, , ready] = lines.map(({ message }) => message)
  const said = { type: 'message', model: 'sonnet', usage: { input_tokens: 0, output_tokens: 0 } }
  expect([asked, ready]).toMatchObject([said, said])
  expect(asked?.id).not.toBe(ready?.id)
})

test('call ids are reproducible, and unique within a transcript', () => {
  const reads = [good('a.md', 'a'), good('a.md', 'a'), good('b.md', 'b')]
  const ids = () => linesOf(reads)[1]!.message.content.map(({ id }) => String(id))
  expect(ids()).toEqual(ids())
  expect(new Set(ids()).size).toBe(3)
  for (const id of ids()) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
})

test('no file is read before it was modified', () => {
  const time = Date.parse('2026-05-01T11:00:00.000Z')
  const times = (mtimeMs: number) =>
    linesOf([good('a', 'a', mtimeMs), good('b', 'b', 1)])[2]?.timestamp
  expect(times(time + 0.25)).toBe('2026-05-01T11:00:00.001Z')
  expect(times(5)).toBe('2026-05-01T10:00:00.000Z')
  expect(times(1e17)).toStartWith('+275760-09-13')
})

test.each([
  ['no end of line', 'a', '1\ta'],
  ['an end of line', 'a\n', '1\ta\n2\t'],
  ['carriage returns', 'a\r\nb\rc\r\n', '1\ta\n2\tb\rc\n3\t'],
  ['a byte order mark', '\uFEFFa\uFEFF', '1\ta\uFEFF'],
  ['other separators', 'a\u2028b\u0085c', '1\ta\u2028b\u0085c'],
  ['a blank line', '\n', '1\t\n2\t'],
])('lines are numbered: %s', (_, text, numbered) => {
  expect(linesOf([good('a', text)])[2]?.message.content).toMatchObject([{ content: numbered }])
})

test.each(['', '\uFEFF'])('an empty file is described (%j)', (text) => {
  const [result] = linesOf([good('a', text)])[2]!.message.content
  expect(result?.['content']).toContain('the contents are empty')
})
