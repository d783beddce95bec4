import { expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { turnsOf, parseScript } from './script.ts'

function problems(text: string): string[] {
  try {
    parseScript(text, 's.jsonc')
  } catch (error) {
    if (error instanceof UserError) return error.problems.map(({ message }) => message)
    throw error
  }
  return []
}

const EVERYTHING = {
  conversations: [
    {
      when: { system: 'You plan', prompt: '^Go' },
      turns: [
        { thinking: 'Hm.', text: 'a', tool: { name: 'Bash', input: { command: 'ls' } } },
        { tools: [{ name: 'Read', input: { file_path: 'a' } }], delayMs: 5, chunkDelayMs: 1 },
        { text: 'half', drop: true },
        { error: { status: 429, type: 't', message: 'm', headers: { 'retry-after': '1' } } },
        {
          text: '',
          usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
          stopReason: 'max_tokens',
        },
      ],
    },
    { sessions: [[{ text: 'a' }], [{ text: 'b' }]], repeat: true },
  ],
}

test('every field is read', () => {
  const script = parseScript(JSON.stringify(EVERYTHING), 's.jsonc')
  expect(script as unknown).toEqual(EVERYTHING)
  expect(turnsOf(script)).toHaveLength(7)
})

test('a plain list is a script, with comments and trailing commas', () => {
  expect(parseScript('[{ "text": "a" }, /* and */ ]', 's.jsonc')).toEqual([{ text: 'a' }])
})

test.each([
  ['¶3', 'the file is 3, expected a list of turns, or an object with "conversations"'],
  ['¶[]', 'the file is an empty list, expected at least one turn'],
  ['[¶{}]', '[0] is an object, expected an answer: "text", "thinking", "tool", "tools", "drop"'],
  ['[{ ¶"txt": 1, "drop": true }]', "[0].txt is unknown (did you mean 'text'?)"],
  ['[{ "text": ¶3 }]', '[0].text is 3, expected a string'],
  ['[{ "drop": ¶false }]', '[0].drop is false, expected true'],
  ['[{ "tool": ¶{ "name": "Bash" } }]', '[0].tool.input is missing, expected an object'],
  ['[{ "tool": { ¶"nmae": "", "name": "a", "input": {} } }]', '[0].tool.nmae is unknown (did you'],
  [
    '[¶{ "text": "a", "error": { "status": 429 } }]',
    '[0] is an object, expected either "error" or',
  ],
  ['[¶{ "tool": { "name": "a", "input": {} }, "tools": [] }]', '[0] is an object, expected either'],
  [
    '[{ "error": { "status": ¶200 } }]',
    '[0].error.status is 200, expected a whole number from 400',
  ],
  ['[{ "error": { "status": 429, "headers": ¶{ "a b": "" } } }]', '[0].error.headers is an object'],
  ['[{ "text": "", "delayMs": ¶-1 }]', '[0].delayMs is -1, expected a whole number from 0 to'],
  ['¶{}', 'conversations is missing, expected a list of conversations'],
  ['{ "conversations": [¶{}] }', 'conversations[0] is an object, expected either "turns" or'],
  [
    '{ "conversations": [{ "when": { "prompt": ¶"(" }, "turns": [{ "text": "" }] }] }',
    'conversations[0].when.prompt is "(", expected a regular expression',
  ],
  [
    '{ "conversations": [{ "sessions": [[{ "text": "" }], ¶[]] }] }',
    'conversations[0].sessions[1] is an empty list, expected at least one turn',
  ],
])('%s is refused at its place', (marked, problem) => {
  const [found = '', ...more] = problems(marked.replace('¶', ''))
  expect(found).toStartWith(`s.jsonc:1:${marked.indexOf('¶') + 1}  ${problem}`)
  expect(more).toEqual([])
})

test('an empty file is refused with an example', () => {
  expect(() => parseScript(' \n', 's.jsonc')).toThrow('s.jsonc is empty.')
})
