import { describe, expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { applyChanges } from './changes.ts'
import { addCriterion, changeCriteria, readCriteria } from './criteria.ts'

const HEAD = '---\nid: TASK-001\n---\n\n'
const marked = (...lines: string[]) =>
  `${HEAD}## Acceptance Criteria\n\n<!-- AC:BEGIN -->\n${lines.map((line) => `${line}\n`).join('')}<!-- AC:END -->\n\n## Extra\n\n- [ ] #1 mine\n`
const unmarked = (...lines: string[]) =>
  `${HEAD}## Acceptance Criteria\n\n${lines.join('\n')}\n\n## Extra\n\n- [ ] #1 mine\n`
const shortOf = (text: string) =>
  readCriteria(text).map((each) => `${each.isDone ? 'x' : 'o'}${each.number} ${each.text}`)

describe('readCriteria', () => {
  test.each([
    ['none', [], []],
    ['some', ['- [ ] #1 one', '- [x] #2 two', '- [X] #3 three'], ['o1 one', 'x2 two', 'x3 three']],
    ['gaps', ['- [ ] #2 two', '- [ ] #7 seven'], ['o2 two', 'o7 seven']],
    ['no numbers', ['- [ ] one', '* [x] two', '  + [ ] three'], ['o1 one', 'x2 two', 'o3 three']],
    ['some numbers', ['- [ ] #3 three', '- [ ] four'], ['o3 three', 'o4 four']],
    ['other lines', ['Text', '- [ ] #1 one', '', '- no box', '<!-- x -->'], ['o1 one']],
  ])('reads %s, with and without marker comments', (_, lines, expected) => {
    expect(shortOf(marked(...lines))).toEqual(expected)
    expect(shortOf(unmarked(...lines))).toEqual(expected)
    expect(shortOf(marked(...lines).replaceAll('\n', '\r\n'))).toEqual(expected)
  })

  test.each([
    ['a number twice', ['- [ ] #2 a', '- [ ] #2 b', '- [ ] #3 c'], ['o2 a', 'o4 b', 'o3 c']],
    ['a number that is too long', ['- [ ] #12345678901 a'], ['o1 #12345678901 a']],
    ['numbered lines', ['1. [ ] one', '2) [x] two'], ['o1 one', 'x2 two']],
    ['a number alone', ['- [ ] #7', '- [x]'], ['o7 ', 'x8 ']],
    [
      'an end in the words',
      ['- [ ] #1 a <!-- AC:END --> b', '- [ ] #2 c'],
      ['o1 a <!-- AC:END --> b', 'o2 c'],
    ],
    ['code', ['- [ ] #1 a', '```', '- [ ] #2 b', '```'], ['o1 a']],
  ])('reads %s', (_, lines, expected) => {
    expect(shortOf(marked(...lines))).toEqual(expected)
  })

  test('finds comments that have no heading', () => {
    const block = '<!-- AC:BEGIN -->\n- [x] #1 one\n<!-- AC:END -->\n'
    const text = `${HEAD}## Description\n\n${block}`
    expect(shortOf(text)).toEqual(['x1 one'])
    expect(addCriterion(text, 'two')).toBe(text.replace('one\n', 'one\n- [ ] #2 two\n'))
  })

  test('treats marker comments in a code block as text', () => {
    const example =
      '## Description\n\n```\n<!-- AC:BEGIN -->\n- [ ] #1 example\n<!-- AC:END -->\n```\n\n'
    expect(shortOf(marked('- [ ] #1 one').replace(HEAD, HEAD + example))).toEqual(['o1 one'])
  })
})

describe('changeCriteria', () => {
  test('changes one character', () => {
    const text = marked('- [ ] #1 one', '- [X] #3 three')
    expect(changeCriteria(text, { check: [1] })).toBe(text.replace('[ ] #1 one', '[x] #1 one'))
    expect(changeCriteria(text, { uncheck: [3] })).toBe(text.replace('[X]', '[ ]'))
    expect(changeCriteria(text, { uncheck: [1], check: [3] })).toBe(text)
  })

  test('finds the criterion, not similar text before it', () => {
    const list = unmarked('- [ ] one')
    const text = list.replace(HEAD, `${HEAD}## Description\n\n- [ ] one\n\n`)
    expect(changeCriteria(text, { check: [1] })).toBe(
      text.replace(/(Criteria\n\n- )\[ \]/, '$1[x]'),
    )
  })

  test('a written number takes precedence over a counted one', () => {
    const text = marked('- [ ] #2 two', '- [ ] new', '- [ ] #3 three')
    expect(changeCriteria(text, { check: [3] })).toBe(text.replace('[ ] #3', '[x] #3'))
    expect(new Set(readCriteria(text).map(({ number }) => number)).size).toBe(3)
  })

  test('refuses a missing criterion', () => {
    expect(() => changeCriteria(marked('- [ ] #2 two'), { check: [1] })).toThrow(
      new UserError('No acceptance criterion #1.'),
    )
  })
})

describe('changeCriteria and addCriterion', () => {
  test('remove and add one line', () => {
    const text = marked('- [ ] #1 one', '- [ ] #3 three')
    expect(changeCriteria(text, { remove: [1] })).toBe(marked('- [ ] #3 three'))
    expect(addCriterion(text, ' two\nlines ')).toBe(
      marked('- [ ] #1 one', '- [ ] #3 three', '- [ ] #4 two lines'),
    )
  })

  test('remove and keep the lines below a criterion', () => {
    const text = unmarked('- [ ] one', '  more', '  - of it', '', '- [ ] two', '  more').replaceAll(
      '\n',
      '\r\n',
    )
    expect(changeCriteria(text, { remove: [1] })).toBe(
      unmarked('', '- [ ] two', '  more').replaceAll('\n', '\r\n'),
    )
    expect(addCriterion(text, 'three')).toBe(
      text.replace(/two\r\n {2}more\r\n/, (found) => `${found}- [ ] #3 three\r\n`),
    )
  })

  test('each of two with the same number can be marked', () => {
    const text = marked('- [ ] #1 a', '- [ ] #1 b')
    expect(changeCriteria(text, { check: [1] })).toBe(marked('- [x] #1 a', '- [ ] #1 b'))
    expect(changeCriteria(text, { check: [2] })).toBe(marked('- [ ] #1 a', '- [x] #1 b'))
  })

  test('one missing number changes nothing, with exit code 1', () => {
    const edit = () => applyChanges(marked('- [ ] a'), { checkCriteria: [1, 9] }, new Date(0))
    expect(edit).toThrow(expect.objectContaining({ exitCode: 1, hint: 'The task has #1.' }))
  })

  test('several are removed by their original numbers', () => {
    const text = marked('- [ ] one', '- [ ] two', '- [ ] three')
    const changed = applyChanges(text, { removeCriteria: [1, 2] }, new Date(0))
    expect(readCriteria(changed).map((each) => each.text)).toEqual(['three'])
  })

  test.each([
    ['with comments', marked('- [ ] one')],
    ['without comments', unmarked('- [ ] one')],
    ['without a section', HEAD],
    ['with a section that is empty', `${HEAD}## Acceptance Criteria\n`],
    [
      'with comments on one line',
      `${HEAD}## Acceptance Criteria\n\n<!-- AC:BEGIN --><!-- AC:END -->\n`,
    ],
    [
      'with a comment that never ends',
      `${HEAD}## Acceptance Criteria\n\n<!-- AC:BEGIN -->\n- [ ] one\n`,
    ],
  ])('one is added to the existing ones, %s', (_, text) => {
    const before = readCriteria(text)
    const number = (before.at(-1)?.number ?? 0) + 1
    expect(readCriteria(addCriterion(text, 'new'))).toEqual([
      ...before,
      { number, isDone: false, text: 'new' },
    ])
  })
})
