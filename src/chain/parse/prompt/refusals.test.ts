import { expect, test } from 'bun:test'
import { UserError } from '../../../base/errors.ts'
import { parsePhases } from './parse-phases.ts'

function refusal(text: string): UserError {
  try {
    parsePhases(text, 'p.md')
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(text)} was not refused`)
}

test('a refusal names the place, shows the line with a caret and says what to do', () => {
  const { message, hint, exitCode } = refusal('Do it.\r\n\r\n/push nmae=x "Write tests"\r\n')
  expect(message).toBe(`p.md:3:7  /push has no option 'nmae' (did you mean 'name'?)
  /push nmae=x "Write tests"
        ^^^^`)
  expect(hint).toBe(
    'Options are name, agent, model, timeout, retry, isolation, on, on_parent_end. ' +
      'If the prompt begins here, put it in quotes.',
  )
  expect(exitCode).toBe(2)
})

const at = (column: number, problem: string) => `p.md:1:${column}  ${problem}`

test.each([
  ['/read', at(1, 'The path of a file is missing.')],
  ['/read ""', at(7, 'The path of a file is empty.')],
  ['/read "a" b', at(11, 'Unexpected text after the closing quote.')],
  ['/read "a"b', at(10, 'A space is missing after the closing quote.')],
  ['/push', at(1, 'The prompt is missing.')],
  ['/push name=x', at(1, 'The prompt is missing.')],
  ["/push ' '", at(7, 'The prompt is empty.')],
  ['/push "x', at(7, 'The quote " is never closed.')],
  ["/push 'x", at(7, "The quote ' is never closed.")],
  ['/push "x\\', at(7, 'The quote " is never closed.')],
  ['/push "x\\"', at(7, 'The quote " is never closed.')],
  ['/push name="x y', at(12, 'The quote " is never closed.')],
  ['/push "x\ny"', at(7, 'The quote " is never closed.')],
  ['/push "a\\d"', at(9, `'\\d' is not an escape sequence in "…".`)],
  ['/push "\\😀"', at(8, `'\\😀' is not an escape sequence in "…".`)],
  ['/push name= x', at(7, "The value of 'name' is missing.")],
  ['/push name=a"b" x', at(13, 'Unexpected quote inside the value.')],
  ['/push name=a name=b x', at(14, "'name' is given twice.")],
  ['/push x=1 is wrong', at(7, "/push has no option 'x'.")],
  ['/push constructor=1 x', at(7, "/push has no option 'constructor'.")],
  ['/push --name x', at(7, "/push has no option '--name', write name=value.")],
  ['/push "x" name=a', at(11, 'Unexpected text after the closing quote.')],
  ['/push retry=-1 x', at(13, 'retry is "-1", expected a whole number from 0 to 100.')],
  ['/push retry=1.5 x', at(13, 'retry is "1.5", expected a whole number from 0 to 100.')],
  ['/push retry=101 x', at(13, 'retry is "101", expected a whole number from 0 to 100.')],
  ['/push retry=1e1 x', at(13, 'retry is "1e1", expected a whole number from 0 to 100.')],
  ['/push timeout=soon x', at(15, "timeout is 'soon', expected a duration.")],
  ['/push timeout=0 x', at(15, 'timeout must be greater than 0.')],
  [
    '/push on=never x',
    at(
      7,
      "'on' is only allowed after the content: before it, the outcome of the agent is not known.",
    ),
  ],
  [
    '/push name=a on=failure x\nGo.',
    at(
      14,
      "'on' is only allowed after the content: before it, the outcome of the agent is not known.",
    ),
  ],
  [
    '/push on=success x',
    at(
      7,
      "'on' is only allowed after the content: before it, the outcome of the agent is not known.",
    ),
  ],
  ['/push isolation=vm x', at(17, 'isolation is "vm", expected shared or worktree.')],
  ['/push on_parent_end=x x', at(21, 'on_parent_end is "x", expected wait or cancel.')],
  ['/push agent="" x', at(13, 'agent is "", expected a name.')],
  ['/push model="a\\nb" x', at(13, 'model is "a\\nb", expected a name.')],
  ['/run 0', at(6, 'The number of tasks is "0", expected a whole number from 1 to 1000000.')],
  ['/run all', at(6, 'The number of tasks is "all", expected a whole number from 1 to 1000000.')],
  ['/run 2 3', at(6, 'The number of tasks is "2 3", expected a whole number from 1 to 1000000.')],
  ['/run parallel=x', at(15, 'parallel is "x", expected a whole number from 1 to 1000000.')],
  ['/run parallel=2 3', at(17, '/run takes one number.')],
  ['/run 3 parallel=2', at(6, 'The number of tasks is "3 parallel=2", expected a whole number')],
  ['/run count=2', at(6, "/run has no option 'count'.")],
])('%j is refused', (text, message) => {
  expect(refusal(text).message).toStartWith(message)
})

test.each(['queue', 'send', 'check', 'receive', 'inbox', 'cancel'])(
  '/%s is not a prompt command, neither before nor after the content',
  (command) => {
    const { message, hint } = refusal(`/read a\n/${command} x\nDo it.`)
    expect(message).toStartWith(`p.md:2:1  /${command} is not a prompt command.`)
    expect(hint).toContain(`double the slash: //${command}`)
    expect(refusal(`Do it.\n/${command}`).message).toStartWith(
      `p.md:2:1  /${command} is not allowed after the content; only /push is.`,
    )
  },
)

test.each(['/read a', '/run', '/run 2'])('%s is not allowed after the content', (command) => {
  for (const text of [`Do it.\n${command}`, `Do it.\n${command}\n\n/push x\n`]) {
    const { message, hint } = refusal(text)
    expect(message).toContain('p.md:2:1  ')
    expect(message).toContain('is not allowed after the content; only /push is.')
    expect(hint).toStartWith('Move it before the content.')
  }
})

test('a mistake in the teardown refuses the whole prompt', () => {
  expect(refusal('/read a\nDo it.\n/push "x').message).toStartWith('p.md:3:7  The quote')
})

test.each([
  ['a/b'],
  ['..'],
  ['a..b'],
  ['.hidden'],
  ['a.'],
  ['#a'],
  ['a#'],
  ['-x'],
  ['a b'],
  ['a,b'],
  ['a\\nb'],
  ['a\u001bb'],
  ['main'],
  [''],
  ['x'.repeat(101)],
])('%j is not a valid task name', (name) => {
  expect(refusal(`/push name="${name}" x`).message).toStartWith('p.md:1:12  ')
})

test('a task name may have a hundred characters', () => {
  const name = 'x'.repeat(100)
  expect(parsePhases(`/push name=${name} x`, 'p.md').setup[0]).toHaveProperty('name', name)
})

test.each([
  ['/push name=a x\n/push name=a y'],
  ['/push name=a on=failure x\n/push name=a on=always y'],
])('duplicate task names are refused before the first is queued: %j', (text) => {
  expect(refusal(`Do it.\n${text}`).message).toStartWith(
    "p.md:3:1  The task on line 2 has the name 'a' too.",
  )
})

test.each([
  ['\0', 1, 1],
  ['Do it.\nno\0w', 2, 3],
  ['/read a\0b', 1, 8],
])('a NUL byte is refused, in commands and in content: %j', (text, line, column) => {
  expect(refusal(text).message).toStartWith(
    `p.md:${line}:${column}  The prompt contains a NUL byte.`,
  )
})

test('the caret is under its place, whatever comes before it', () => {
  expect(refusal('/push "日本\t語" x').message.split('\n').slice(1)).toEqual([
    '  /push "日本 語" x',
    '                  ^',
  ])
})

test('a long line is cut around the place, and long values are not repeated', () => {
  const [problem, line, caret] = refusal(`/push "${'x'.repeat(1_000_000)}" more`).message.split(
    '\n',
  )
  expect(problem).toBe('p.md:1:1000010  Unexpected text after the closing quote.')
  expect(line).toBe(`  …${'x'.repeat(58)}" more`)
  expect(caret).toBe(`${' '.repeat(63)}^^^^`)
  const { message } = refusal(`/push isolation="${'x'.repeat(1_000_000)}" y`)
  expect(message.length).toBeLessThan(600)
})

test('messages contain no control characters', () => {
  const { message } = refusal('/push timeout="\u001b[31m\u009b" \u001b[2J')
  // oxlint-disable-next-line no-control-regex
  expect(message.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
})

test.each([
  ['before the content', `${'/read a\n'.repeat(10_001)}x`, 10_001],
  ['after it', `x\n${'/push a\n'.repeat(10_001)}`, 10_002],
  ['on both sides', `${'/read a\n'.repeat(9999)}x\n/push a\n/push b\n`, 10_002],
])('more than 10 000 commands %s are refused', (_, text, line) => {
  const { message, hint } = refusal(text)
  expect(message).toStartWith(`p.md:${line}:1  A prompt can have at most 10000 commands.\n  /`)
  expect(hint).toBe('Queue further tasks with forkhestra push.')
})

test('millions of commands are refused quickly', () => {
  const text = '/push a\n'.repeat(2_000_000)
  const began = performance.now()
  refusal(text)
  // Milliseconds; in quadratic time, hours.
  expect(performance.now() - began).toBeLessThan(30_000)
})
