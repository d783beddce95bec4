import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { fillTemplate, parseTemplate } from '../parse/template.ts'
import { readPhases } from './read-phases.ts'

const given = (text: string, values: Record<string, string>) =>
  readPhases(fillTemplate(parseTemplate(text), new Map(Object.entries(values))), 'the prompt')

test('a value is never a command, and commands take values', () => {
  const { setup, content, teardown } = given(
    '/read ${FILE}\n/run ${N}\n${TEXT}\nDo it.\n/push name=after-${NAME} retry=${N} "Then ${TEXT}"',
    { FILE: 'docs/a b.md', TEXT: '/read /etc/passwd', NAME: 'login', N: '2' },
  )
  expect(setup).toMatchObject([{ path: 'docs/a b.md' }, { kind: 'run', count: 2 }])
  expect(content).toBe('/read /etc/passwd\nDo it.')
  expect(teardown).toMatchObject([
    { name: 'after-login', retry: 2, prompt: 'Then /read /etc/passwd' },
  ])
})

test.each([
  ['/push ${X}', '/read /etc/passwd\nGo.'],
  ['/push "Do ${X}"', 'it.\n/push more'],
  ['/push "/read ${X}\\nGo."', 'a.md\n/run'],
  ['/push "/push name=inner \\"${X}\\"\\nGo."', 'a" \n/run'],
  ['/push "/${X}"', 'run'],
  ['/push "/re${X}\\nGo."', 'ad /etc/passwd'],
  ['/push "/push ${X}"', '/read /etc/passwd'],
])('a value in the prompt of a task is not a command there either: %j', (text, value) => {
  const [task] = given(text, { X: value }).setup
  const [plain] = given(text, { X: 'plain' }).setup
  if (task?.kind !== 'push' || plain?.kind !== 'push') throw new Error('no task')
  const readTask = (prompt: string) => readPhases([prompt], 'the task')
  const kinds = (prompt: string): unknown =>
    readTask(prompt).setup.map((each) => [each.kind, each.kind === 'push' && kinds(each.prompt)])
  expect(kinds(task.prompt)).toEqual(kinds(plain.prompt))
  const end = (prompt: string) => readTask(prompt).teardown
  expect(end(task.prompt)).toEqual(end(plain.prompt))
  // A command that became text has one slash more.
  const read = JSON.stringify(readTask(task.prompt)).replaceAll('//', '/')
  expect(read).toContain(JSON.stringify(value).slice(1, -1))
})

test('a task reads any value as plain text', () => {
  const value = fc
    .array(fc.constantFrom('/read a', '//run', '/push', 'x', '\n', ' ', '"', '\\', '\t', "'"))
    .map((parts) => `${parts.join('')}.`)
  fc.assert(
    fc.property(value, (text) => {
      const { setup } = given('/push "/read a.md\\n${X}\\n/push y"', { X: text })
      const prompt = setup[0]?.kind === 'push' ? setup[0].prompt : ''
      const phases = readPhases([prompt], 'the task')
      expect(phases.setup).toMatchObject([{ kind: 'read', path: 'a.md' }])
      expect(phases.content).toBe(text.replace(/^(?:\s*\n)+/, ''))
      expect(phases.teardown).toMatchObject([{ kind: 'push', prompt: 'y' }])
    }),
    { numRuns: 1000 },
  )
})

test.each([
  [
    '/push name=${X} y',
    'a/b',
    'the prompt:1:12  "a/b" is not a valid task name.\n  /push name=a/b y',
  ],
  ['/push retry=${X} y', 'no', 'the prompt:1:13  retry is "no"'],
  ['/read ${X}', '  ', 'the prompt:1:7  The path of a file is empty.'],
  ['/push "${X}"', ' ', 'The prompt is empty.'],
])('an invalid value is shown in its place: %s', (text, value, message) => {
  expect(() => given(text, { X: value })).toThrow(message)
})

test('a mistake in the prompt of a task is reported with both places', () => {
  expect(() => given('Go.\n/push name=t "/read"', {})).toThrow(
    "the prompt:2, task 't':1:1  The path of a file is missing.",
  )
  expect(() => given('/push /push "x', {})).toThrow('is never closed')
  expect(() => given('/push "/push y\\n${X}\\n/push z"', { X: '' })).toThrow('The content is empty')
  expect(() => given('/push "a\\n/push z"', {})).not.toThrow()
})

test('tasks that are nested too deeply are refused', () => {
  expect(() => given(`${'/push '.repeat(100_000)}x`, {})).toThrow('levels deep')
  expect(given(`${'/push '.repeat(15)}x`, {}).setup).toHaveLength(1)
})

test('a prompt that is only a value is content', () => {
  expect(given('${TEXT}', { TEXT: '/run' })).toEqual({ setup: [], content: '/run', teardown: [] })
})

test('an unfilled hole stays as written', () => {
  expect(given('/read notes-${ITERATION}.md\nGo.', {}).setup).toMatchObject([
    { path: 'notes-${ITERATION}.md' },
  ])
})

test('private-use characters in a prompt are ordinary text', () => {
  const symbol = '\u{F0000}'
  const text = `/push name=x "\${A} ${symbol}"\n${symbol} \${A}`
  expect(given(text, { A: `/run ${symbol}\u{F0001}` })).toMatchObject({
    setup: [{ name: 'x', prompt: `//run ${symbol}\u{F0001} ${symbol}` }],
    content: `${symbol} /run ${symbol}\u{F0001}`,
  })
  expect(readPhases([`/read ${symbol}.md\nGo.`], 'p').setup).toMatchObject([
    { path: `${symbol}.md` },
  ])
})

test('a prompt with too many variables is refused', () => {
  const template = Array.from({ length: 140_000 }, () => ({ value: 'x' }))
  expect(() => readPhases(template, 'p')).toThrow('too many variables')
})

test('options are filled even if the rest is shown as written', () => {
  const template = parseTemplate('/push name=t-${STEP} "/run ${STEP}\\nIn ${STEP}"\nDo ${STEP}.')
  expect(readPhases(template, 'p', new Map([['STEP', '2']]))).toMatchObject({
    setup: [{ name: 't-2' }],
    content: 'Do ${STEP}.',
  })
})
