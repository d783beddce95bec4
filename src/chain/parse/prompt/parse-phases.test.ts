import { describe, expect, test } from 'bun:test'
import { parsePhases } from './parse-phases.ts'
import type { Phases } from './phases.ts'

const parse = (text: string) => parsePhases(text, 'p.md')
const contentOnly = (content: string): Phases => ({ setup: [], content, teardown: [] })

test('a prompt is setup, content and teardown', () => {
  const text = `/read project/design.md
/push name=prep "Prep task"
/run
Implement the feature.
/push name=tests "Write tests"
`
  expect(parse(text)).toEqual({
    setup: [
      { kind: 'read', path: 'project/design.md', line: 1 },
      { kind: 'push', name: 'prep', prompt: 'Prep task', line: 2 },
      { kind: 'run', line: 3 },
    ],
    content: 'Implement the feature.',
    teardown: [{ kind: 'push', name: 'tests', prompt: 'Write tests', line: 5 }],
  })
})

test.each([
  [''],
  ['\n \n\t\n'],
  ['Do it.'],
  ['\n\n  Do it.\r\n\r\n'],
  ['/usr/bin/env is a path\n/review this\n/readme.md\n/pushing\n/run-all'],
  ['/Read a\n/READ b\n/'],
  ['  /read indented.md\n\t/push "x"\n -> /run'],
  ['See:\n/read a.md\n/push "x"\n/check\nand go on.'],
  ['See:\n//read a.md\n///push "x"\nand go on.'],
  ['//comment\n// read this\n/*'],
  ['\uFEFFDo it.\n/x'],
])('%j has no commands and stays unchanged', (text) => {
  expect(parse(text)).toEqual(contentOnly(text))
})

describe('blank lines', () => {
  test('next to commands belong to them', () => {
    const { setup, content, teardown } = parse(
      '\n\n/read a\n  \n/read b\n\n\n  one\n\ntwo  \n\t\n/push x\n\n/push y\n\n',
    )
    expect(setup.map(({ line }) => line)).toEqual([3, 5])
    expect(content).toBe('  one\n\ntwo  ')
    expect(teardown.map(({ line }) => line)).toEqual([12, 14])
  })

  test('on the side without commands belong to the content', () => {
    expect(parse('/read a\nDo it.\n\n').content).toBe('Do it.\n\n')
    expect(parse('\n\nDo it.\n/push x').content).toBe('\n\nDo it.')
  })
})

test.each([
  ['/read a', 1],
  ['/push "x"\n/run\n', 2],
  ['\n/push x\n\n/push y\n/run 2\n\n', 3],
])('%j is setup alone, and the agent gets no prompt', (text, commands) => {
  const { setup, content, teardown } = parse(text)
  expect([setup.length, content, teardown.length]).toEqual([commands, '', 0])
})

test('CRLF is kept in the content and removed from commands', () => {
  expect(parse('/read a b.md\r\n\r\none\r\ntwo\r\n\r\n/push \'x\'\r\n/push "y"\r\n')).toEqual({
    setup: [{ kind: 'read', path: 'a b.md', line: 1 }],
    content: 'one\r\ntwo',
    teardown: [
      { kind: 'push', prompt: 'x', line: 6 },
      { kind: 'push', prompt: 'y', line: 7 },
    ],
  })
})

test('a byte order mark does not hide a command', () => {
  expect(parse('\uFEFF/read a\nDo it.').setup).toEqual([{ kind: 'read', path: 'a', line: 1 }])
  expect(parse('\uFEFF//read a').content).toBe('\uFEFF/read a')
})

test.each([
  ['//read a', '/read a'],
  ['///read a', '//read a'],
  ['//check', '/check'],
  ['\n//read a\n\n//push b\n/run\nDo it.', '\n/read a\n\n/push b\n/run\nDo it.'],
  ['Do it.\n/read a\n//check b\n\r\n//check c\r\n', 'Do it.\n/read a\n/check b\n\r\n/check c\r\n'],
  ['//read a\nDo it.\n//read b\nNow.\n//read c', '/read a\nDo it.\n//read b\nNow.\n/read c'],
])('an escaped command loses one slash: %j', (text, content) => {
  expect(parse(text)).toEqual(contentOnly(content))
})

test('an escaped line ends the setup and precedes the teardown', () => {
  expect(parse('/read a\n\n//read b\n/push x')).toEqual({
    setup: [{ kind: 'read', path: 'a', line: 1 }],
    content: '/read b',
    teardown: [{ kind: 'push', prompt: 'x', line: 4 }],
  })
})

test.each([
  ['/read docs/a file.md  ', 'docs/a file.md'],
  ['/read\t"a \\"b\\" \\\\ c.md"', 'a "b" \\ c.md'],
  ["/read 'it\\n is'", 'it\\n is'],
  ['/read name=x', 'name=x'],
  ['/read 日本/ü.md', '日本/ü.md'],
])('%p names its file', (text, path) => {
  expect(parse(text).setup).toEqual([{ kind: 'read', path, line: 1 }])
})

test.each([
  ['/push Write tests for x=1 and "y"  ', { prompt: 'Write tests for x=1 and "y"' }],
  ['/push "x=1 is wrong"', { prompt: 'x=1 is wrong' }],
  ['/push "/read a.md\\n\\tGo on.\\n/push \\"b\\""', { prompt: '/read a.md\n\tGo on.\n/push "b"' }],
  [`/push '"as\\n it is"'`, { prompt: '"as\\n it is"' }],
  ['/push name="a-1" fix name=b too', { name: 'a-1', prompt: 'fix name=b too' }],
  ['/push - a list', { prompt: '- a list' }],
  ['/push = is a sign', { prompt: '= is a sign' }],
  ['/push timeout=90 x', { timeoutMs: 90_000, prompt: 'x' }],
  ['/push timeout=1h30m retry=0 x', { timeoutMs: 5_400_000, retry: 0, prompt: 'x' }],
  [
    "/push agent='my agent' model=m:1/x[1m] x",
    { agent: 'my agent', model: 'm:1/x[1m]', prompt: 'x' },
  ],
  [
    '/push isolation=worktree on_parent_end=cancel "x"',
    { isolation: 'worktree', onParentEnd: 'cancel', prompt: 'x' },
  ],
  ['/push name=日本.2_b x', { name: '日本.2_b', prompt: 'x' }],
])('%p is a task', (text, command) => {
  expect(parse(text).setup).toEqual([{ kind: 'push', ...command, line: 1 } as never])
})

test.each([
  ['/run', {}],
  ['/run 3  ', { count: 3 }],
  ['/run parallel=4', { parallel: 4 }],
])('%p starts tasks', (text, options) => {
  expect(parse(text).setup).toEqual([{ kind: 'run', ...options, line: 1 }])
})

test('tasks after a success and after a failure may have the same name', () => {
  const text = 'Do it.\n/push name=next on=success go on\n/push name=next on=failure fix it'
  expect(parse(text).teardown.map(({ on }) => on)).toEqual(['success', 'failure'])
})

test('the most tasks after a long content are parsed quickly', () => {
  const tasks = Array.from({ length: 9999 }, (_, index) => `/push name=t${index} "Task ${index}"`)
  const content = 'A line of the content.\n'.repeat(50_000)
  const start = performance.now()
  const { teardown } = parse(`/run\n${content}${tasks.join('\n')}`)
  expect(performance.now() - start).toBeLessThan(30_000)
  expect(teardown.at(-1)).toEqual({
    kind: 'push',
    name: 't9998',
    prompt: 'Task 9998',
    line: 60_000,
  })
})
