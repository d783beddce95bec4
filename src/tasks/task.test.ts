import { describe, expect, test } from 'bun:test'
import { BrokenFile } from './text/fields.ts'
import { parseTask } from './task.ts'

const file = (...yaml: string[]) => `---\n${yaml.join('\n')}\n---\n`
const read = (...yaml: string[]) => parseTask(file(...yaml), 'TASK-001 - From the name.md')

function broken(text: string): string {
  try {
    parseTask(text, 'TASK-001 - A.md')
  } catch (error) {
    if (error instanceof BrokenFile) return `${error.line}: ${error.message}`
    throw error
  }
  return 'fine'
}

describe('a value is read as it was written', () => {
  test.each([
    ['a number', 'title: 1e3', '1e3'],
    ['a number with zeros', 'title: 007 # agent', '007'],
    ['a boolean', 'title: false', 'false'],
    ['a list', 'title: [fix, 1.10]', 'fix, 1.10'],
    ['an object', 'title: {a: 1} # odd', '{a: 1}'],
    ['an object over lines', 'title:\n  fix: it', 'fix: it'],
    ['a quoted key', '"title" : 42', '42'],
    ['nothing', 'title: ~', 'From the name'],
    [
      'a line of 100 000 characters',
      `title: ${'a b '.repeat(25_000)}`,
      'a b '.repeat(25_000).trim(),
    ],
  ])('as a title: %s', (_, line, title) => {
    expect(read(line).title).toBe(title)
  })

  test.each([
    ['numbers', 'labels: [1.10, 007, 1e3, -0]', ['1.10', '007', '1e3', '-0']],
    [
      'words of YAML',
      'labels: [true, null, ~, no, 2026-01-01]',
      ['true', 'null', '~', 'no', '2026-01-01'],
    ],
    ['lines', 'labels:\n- 1.10 # one\n-\n- "a, b"\n# c\n- x: 1', ['1.10', 'a, b', 'x: 1']],
    [
      'brackets over lines',
      'labels: [\n  1.10, # one\n  {a: "]"},\n  it\'s ]',
      ['1.10', '{a: "]"}', "it's"],
    ],
    ['one number', 'labels: 1.10', ['1.10']],
    ['words after commas', 'labels: a,, b ', ['a', 'b']],
    ['an object', 'labels: {a: 1}', []],
  ])('as labels: %s', (_, line, labels) => {
    expect(read(line, 'x: 1').labels).toEqual(labels)
  })
})

describe('problems are reported with their line', () => {
  test.each([
    [
      'a key twice',
      file('id: TASK-001', 'status: Done', 'x: 1', '"status": To Do'),
      "5: duplicate key 'status'",
    ],
    [
      'a list that never ends',
      file('id: TASK-001', 'labels: [a', 'x: 1'),
      '3: the frontmatter is not valid YAML',
    ],
    [
      'a quote that never ends',
      file('id: TASK-001', 'a: [', '  b]', 'title: "x', 'b: 1'),
      '5: the frontmatter is not valid YAML',
    ],
    [
      'bad YAML far below',
      file('id: TASK-001', ...Array.from({ length: 500 }, (_, at) => `k${at}: 1`), 'a: ]'),
      '503: the frontmatter is not valid YAML',
    ],
    ['two documents', file('id: TASK-001', '...', 'x: 1'), '2: the frontmatter must consist'],
    [
      'a conflict at the top',
      '<<<<<<< a\n---\n=======\n---\n>>>>>>> b\nid: TASK-001\n---\n',
      '1: unresolved merge conflict',
    ],
    [
      'a conflict below a code block',
      `${file('id: TASK-001')}~~~\n<<<<<<< a\n~~~\n<<<<<<< a\r\n=======\r\n`,
      '7: unresolved merge conflict',
    ],
    ['only a BOM', '\uFEFF', '1: no frontmatter'],
  ])('%s', (_, text, expected) => {
    expect(broken(text)).toStartWith(expected)
  })

  test.each([
    ['a key twice that is not ours', file('id: TASK-001', 'x: 1', 'x: 2')],
    [
      'a key in a text and in an object',
      file('id: TASK-001', 'a: |', '  id: x', 'b:', '  id: y', 'idea: 1'),
    ],
    ['one half of a conflict', `${file('id: TASK-001')}\n<<<<<<< a\n`],
    [
      'a line that is not the end',
      `---\nid: TASK-001\n---- x\n---\n`.replace('---- x\n', '# ---\n'),
    ],
    ['no last newline, CRLF and a BOM', '\uFEFF---\r\nid: TASK-001\r\n---'],
  ])('but not %s', (_, text) => {
    expect(broken(text)).toBe('fine')
  })
})
