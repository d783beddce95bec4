import { describe, expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { applyChanges } from './changes.ts'
import { addCriterion, markCriterion, readCriteria, removeCriterion } from './criteria.ts'

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
  ])('reads %s, with comments around and without', (_, lines, expected) => {
    expect(shortOf(marked(...lines))).toEqual(expected)
    expect(shortOf(unmarked(...lines))).toEqual(expected)
    expect(shortOf(marked(...lines).replaceAll('\n', '\r\n'))).toEqual(expected)
  })

  test('takes comments inside of a code block for text', () => {
    const example =
      '## Description\n\n```\n<!-- AC:BEGIN -->\n- [ ] #1 example\n<!-- AC:END -->\n```\n\n'
    expect(shortOf(marked('- [ ] #1 one').replace(HEAD, HEAD + example))).toEqual(['o1 one'])
  })
})

describe('markCriterion', () => {
  test('changes one character', () => {
    const text = marked('- [ ] #1 one', '- [X] #3 three')
    expect(markCriterion(text, 1, true)).toBe(text.replace('[ ] #1 one', '[x] #1 one'))
    expect(markCriterion(text, 3, false)).toBe(text.replace('[X]', '[ ]'))
    expect(markCriterion(text, 1, false)).toBe(text)
  })

  test('does not change what is so already', () => {
    const text = marked('- [X] #1 one')
    expect(markCriterion(text, 1, true)).toBe(text)
  })

  test('means the criterion, not a text before it that looks the same', () => {
    const list = unmarked('- [ ] one')
    const text = list.replace(HEAD, `${HEAD}## Description\n\n- [ ] one\n\n`)
    expect(markCriterion(text, 1, true)).toBe(text.replace(/(Criteria\n\n- )\[ \]/, '$1[x]'))
  })

  test('a number that is written wins over one that is counted', () => {
    const text = marked('- [ ] #2 two', '- [ ] new', '- [ ] #3 three')
    expect(markCriterion(text, 3, true)).toBe(text.replace('[ ] #3', '[x] #3'))
  })

  test('every criterion has a number of its own', () => {
    const text = marked('- [ ] #2 two', '- [ ] new', '- [ ] #3 three')
    expect(new Set(readCriteria(text).map(({ number }) => number)).size).toBe(3)
  })

  test('refuses what is not there', () => {
    expect(() => markCriterion(marked('- [ ] #2 two'), 1, true)).toThrow(
      new UserError('There is no acceptance criterion #1.'),
    )
  })
})

describe('removeCriterion and addCriterion', () => {
  test('take and add one line', () => {
    const text = marked('- [ ] #1 one', '- [ ] #3 three')
    expect(removeCriterion(text, 1)).toBe(marked('- [ ] #3 three'))
    expect(addCriterion(text, ' two\nlines ')).toBe(
      marked('- [ ] #1 one', '- [ ] #3 three', '- [ ] #4 two lines'),
    )
  })

  test('several are removed by the numbers that they had before', () => {
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
  ])('one is added to those that are there, %s', (_, text) => {
    const before = readCriteria(text)
    const number = (before.at(-1)?.number ?? 0) + 1
    expect(readCriteria(addCriterion(text, 'new'))).toEqual([
      ...before,
      { number, isDone: false, text: 'new' },
    ])
  })
})
