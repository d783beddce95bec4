import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../base/errors.ts'
import { BrokenFile, readFields, splitFile } from './fields.ts'
import { setField } from './frontmatter.ts'
import { parseTask } from '../task.ts'

const file = (...yaml: string[]) => `---\n${yaml.join('\n')}\n---\n\nBody\n`

describe('splitFile and readFields', () => {
  test.each([
    ['no frontmatter', 'Title\n', 1],
    ['nothing', '', 1],
    ['a frontmatter that is not closed', '---\nid: TASK-001\n', 1],
    ['a list', '---\n- a\n---\n', 2],
    ['a word', '---\nword\n---\n', 2],
    ['an empty frontmatter', '---\n---\n', 2],
    ['bad YAML', '---\nid: TASK-001\ntitle: a\nlabels: ]\nx: 1\n---\n', 4],
    ['a conflict', '---\nid: TASK-001\n<<<<<<< ours\na: 1\n=======\na: 2\n>>>>>>> b\n---\n', 3],
    [
      'a conflict without names',
      '---\nid: TASK-001\n<<<<<<<\na: 1\n=======\na: 2\n>>>>>>>\n---\n',
      3,
    ],
    ['a conflict in the body', '---\nid: TASK-001\n---\n\n<<<<<<< ours\na\n=======\n', 5],
    ['a wrong status', '---\nid: TASK-001\nstatus: Soon\n---\n', 3],
    ['a wrong priority', '---\nid: TASK-001\na: 1\npriority: urgent\n---\n', 4],
    ['a wrong id', '---\nid: ../x\n---\n', 2],
  ])('report the line of %s', (_, text, line) => {
    let found: unknown
    try {
      parseTask(text, 'TASK-001 - A.md')
    } catch (error) {
      found = error
    }
    expect(found).toBeInstanceOf(BrokenFile)
    expect((found as BrokenFile).line).toBe(line)
  })

  test.each([
    ['a heading that is underlined with seven signs', '\nChanges\n=======\n'],
    ['a conflict that is shown in a code block', '\n```\n<<<<<<< a\n=======\n>>>>>>> b\n```\n'],
  ])('treat %s as text', (_, body) => {
    expect(parseTask(`---\nid: TASK-001\n---\n${body}`, 'x.md').id).toBe('TASK-001')
  })
})

describe('parseTask', () => {
  test.each([
    ['title: 42', 'title', '42'],
    ['title: 1.10', 'title', '1.10'],
    ['title: 42 # the answer', 'title', '42'],
    ['title: "a: b"', 'title', 'a: b'],
    ['title: true', 'title', 'true'],
    ['title: |\n  two\n  lines', 'title', 'two lines'],
    ['assignee: [ann, bob]', 'assignee', 'ann, bob'],
    ['createdAt: 2026-01-20', 'createdAt', '2026-01-20'],
    ['status: in-progress', 'status', 'In Progress'],
    ['priority: HIGH', 'priority', 'high'],
    ['labels: a, b', 'labels', ['a', 'b']],
    ['labels:\n  - a\n  - b', 'labels', ['a', 'b']],
    ['labels: [1.10, 007]', 'labels', ['1.10', '007']],
    ['labels:', 'labels', []],
    ['dependencies: [task-2, TASK-02]', 'dependencies', ['TASK-002']],
    ['parent: task-7', 'parent', 'TASK-007'],
    ['dueDate: 2026-01-20', 'due', '2026-01-20'],
  ] as const)('reads %j', (line, key, expected) => {
    expect(parseTask(file('id: TASK-001', line), 'x.md')[key]).toEqual(expected as never)
  })
})

describe('setField', () => {
  test.each([
    ['in its place', ['a: 1', 'status: To Do', 'b: 2'], ['a: 1', 'status: Done', 'b: 2']],
    ['at the end', ['a: 1'], ['a: 1', 'status: Done']],
    ['over several lines', ['status: >', '  To', '', '  Do', 'b: 2'], ['status: Done', 'b: 2']],
    [
      'not inside other values',
      ['a:', '  status: x', 'ab: |', '  status: y'],
      ['a:', '  status: x', 'ab: |', '  status: y', 'status: Done'],
    ],
    ['before a comment', ['status: To Do', '# why', 'b: 2'], ['status: Done', '# why', 'b: 2']],
    ['and keeps its comment', ['status: To Do # why', 'b: 2'], ['status: Done # why', 'b: 2']],
    ['with the key in quotes', ['"status": To Do', 'b: 2'], ['"status": Done', 'b: 2']],
    ['with a space before the colon', ['status : To Do', 'b: 2'], ['status : Done', 'b: 2']],
  ])('sets a value %s', (_, before, after) => {
    expect(setField(file(...before), 'status', 'Done')).toBe(file(...after))
  })

  test.each([
    ['a flow list', ['labels: [a, b]', 'x: 1'], ['labels: [a, c]', 'x: 1']],
    ['a block list', ['labels:', '  - a', '  - b', 'x: 1'], ['labels:', '  - a', '  - c', 'x: 1']],
    [
      'a block list that is not indented',
      ['labels:', '- a', '- b', 'x: 1'],
      ['labels:', '- a', '- c', 'x: 1'],
    ],
    [
      'a block list with comments',
      ['labels: # all', '  # first', '  - "a" # the a', '', '  - b # the b', '  # last', 'x: 1'],
      ['labels: # all', '  # first', '  - "a" # the a', '', '  - c', '  # last', 'x: 1'],
    ],
    [
      'a list with a comment at the margin',
      ['labels:', '  - a', '# why', '  - b', 'x: 1'],
      ['labels:', '  - a', '# why', '  - c', 'x: 1'],
    ],
    [
      'a flow list over lines',
      ['labels: [', '  a, # one', '  b # two', '] # end', 'x: 1'],
      ['labels: [', '  a, # one', '  c', '] # end', 'x: 1'],
    ],
    [
      'a flow list over lines with a comma at its end',
      ['labels: [', '  a,', ']', 'x: 1'],
      ['labels: [', '  a,', '  c,', ']', 'x: 1'],
    ],
    [
      'a flow list that is broken',
      ['labels: [a,', '  b]', 'x: 1'],
      ['labels: [a,', '  c]', 'x: 1'],
    ],
    ['words after commas', ['labels: a, b # why', 'x: 1'], ['labels: [a, c] # why', 'x: 1']],
    ['nothing', ['labels: # why', 'x: 1'], ['labels: [a, c] # why', 'x: 1']],
    ['an empty list', ['labels: [ ]', 'x: 1'], ['labels: [a, c ]', 'x: 1']],
    ['one in another order', ['labels: [c, a] # why', 'x: 1'], ['labels: [a, c] # why', 'x: 1']],
  ])('changes the items of %s', (_, before, after) => {
    const changed = setField(file(...before), 'labels', ['a', 'c'])
    expect(readFields(splitFile(changed))).toEqual({ labels: ['a', 'c'], x: 1 })
    expect(changed).toBe(file(...after))
  })

  test('removes a key with all its lines, or nothing if it is missing', () => {
    expect(setField(file('a: 1', 'due: |', '  x', 'b: 2'), 'due', undefined)).toBe(
      file('a: 1', 'b: 2'),
    )
    expect(setField(file('a: 1'), 'due', undefined)).toBe(file('a: 1'))
  })

  test.each([
    ['a key that is written as a question', 'status', ['id: TASK-001', '? status', ': To Do']],
    ['an object in braces', 'id', ['{id: TASK-001, status: To Do}']],
    ['keys that are all indented', 'id', ['  id: TASK-001', '  status: To Do']],
  ])('reports %s as broken', (_, key, yaml) => {
    expect(() => setField(file(...yaml), 'status', 'Done')).toThrow(
      new BrokenFile(`'${key}' must be on a line of its own, such as "${key}: …"`, 2),
    )
  })

  test('refuses a value that another one refers to', () => {
    expect(() => setField(file('status: &s To Do', 'x: *s'), 'status', 'Done')).toThrow(
      "Cannot change 'status' without changing other parts of the frontmatter.",
    )
  })

  test('refuses to remove the last field, which would break the file', () => {
    expect(() => setField(file('assignee: ann'), 'assignee', undefined)).toThrow(UserError)
  })

  test.each([
    ['a value', ['status: "To Do"   # why'], 'status', 'To Do'],
    ['a list', ['labels: [ "a" ,b, 1.10 ] # why'], 'labels', ['a', 'b', '1.10']],
    ['nothing', ['x: 1'], 'labels', undefined],
  ])('keeps %s that is already set', (_, yaml, key, value) => {
    expect(setField(file(...yaml), key, value)).toBe(file(...yaml))
  })

  test.each([
    ['a line', ['labels:', '- a', '# c', '- b'], ['b'], ['labels:', '# c', '- b']],
    ['the last line', ['labels: # x', '  # y', '  - a'], [], ['labels: [] # x', '  # y']],
    ['the first of some', ['labels: [a, b, c]'], ['b', 'c'], ['labels: [b, c]']],
    ['the last of some', ['labels: [a, b, c]'], ['a', 'b'], ['labels: [a, b]']],
    [
      'a line between brackets',
      ['labels: [', '  a, # x', '  b', ' ]'],
      ['a'],
      ['labels: [', '  a, # x', ' ]'],
    ],
    ['the only one', ['labels: [a]'], [], ['labels: []']],
  ])('removes %s', (_, before, wanted, after) => {
    expect(setField(file(...before), 'labels', wanted)).toBe(file(...after))
  })

  test('any text and any list read back', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.string({
        unit: fc.constantFrom(...'a1 :#-[]{}\'"\\,&*!|>%@`?.~=<\t\u007f\u0085\u2028é'.split('')),
        minLength: 1,
      }),
      fc.constantFrom(
        'null',
        '~',
        'true',
        'no',
        '1e3',
        '0x1F',
        '.inf',
        '2026-01-01',
        '---',
        '...',
        '<<',
        '=',
        '1_000',
      ),
    )
    const value = fc.oneof(text, fc.array(text, { maxLength: 4 }))
    fc.assert(
      fc.property(value, fc.constantFrom('\n', '\r\n'), (wanted, eol) => {
        const before = file('a: 1', 'x: old', 'b: 2').replaceAll('\n', eol)
        const after = setField(before, 'x', wanted)
        expect(readFields(splitFile(after))['x']).toEqual(wanted)
        expect(after.split(eol).toSpliced(2, 1)).toEqual(before.split(eol).toSpliced(2, 1))
      }),
      { numRuns: 1000 },
    )
  })
})
