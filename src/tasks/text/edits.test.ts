import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../base/errors.ts'
import { findSections, readSection } from './body.ts'
import { applyChanges, type Changes } from './changes.ts'
import { readCriteria } from './criteria.ts'
import { BrokenFile, readFields, splitFile } from './fields.ts'
import { setField } from './frontmatter.ts'
import { parseTask } from '../task.ts'

// Files as people write them: each line has its own line end, and there are comments everywhere.

const NOW = new Date('2026-01-01T00:00:00.000Z')
const word = fc.stringMatching(/^[a-z]{1,6}$/)
const comment = fc.constantFrom('', '', ' # why', '   # "a: [b"', ' #')

const ofKey = (key: string) => fc.constantFrom(key, key, `"${key}"`, `'${key}'`, `${key} `)

const scalar = (key: string, values: readonly string[]) =>
  fc
    .tuple(ofKey(key), fc.constantFrom(...values), comment, fc.nat(4))
    .map(([name, value, end, layout]) => {
      if (layout === 0) return [`${name}: "${value}"${end}`]
      if (layout === 1) return [`${name}:   '${value}'${end}`]
      if (layout === 2) return [`${name}: >-${end}`, `  ${value}`, '']
      return [`${name}: ${value}${end}`]
    })

const list = (key: string) =>
  fc
    .tuple(ofKey(key), fc.uniqueArray(word, { minLength: 1, maxLength: 4 }), comment, fc.nat(5))
    .map(([name, items, end, layout]) => {
      if (layout === 0) return [`${name}: [${items.join(', ')}]${end}`]
      if (layout === 1) return [`${name}:${end}`, ...items.map((item) => `- ${item}${end}`)]
      if (layout === 2) return [`${name}:`, ...items.flatMap((item) => ['# at', `  - "${item}"`])]
      if (layout === 3)
        return [`${name}: [${end}`, ...items.map((item) => `  ${item},${end}`), ' ]']
      if (layout === 4) return [`${name}: [ ${items.join(' ,')} ]${end}`]
      return [`${name}:`, '  # all', '', ...items.map((item) => `    -   ${item}${end}`)]
    })

const foreign = fc
  .tuple(word, fc.nat(5))
  .map(
    ([name, kind]) =>
      [
        [`# ${name}: 1`],
        [`x_${name}: {status: 1, labels: [a]} # ${name}`],
        [`y_${name}:`, '  labels:', '    - no', '  status: no'],
        [`z_${name}: |`, '  status: no', '', '  # text', '  - a'],
        [`w_${name}: "one`, '  status: no"'],
        [''],
      ][kind]!,
  )

const head = fc
  .tuple(
    scalar('title', ['The one', 'Another']),
    scalar('status', ['To Do', 'in-progress', 'Blocked']),
    scalar('assignee', ['ann', 'bob']),
    list('labels'),
    fc.uniqueArray(foreign, { maxLength: 3, selector: (lines) => lines.join('\n') }),
  )
  .chain(([title, status, assignee, labels, others]) => {
    const pieces = [['id: TASK-001'], title, status, assignee, labels, ...others]
    return fc.shuffledSubarray(pieces, { minLength: pieces.length })
  })
  .map((pieces) => ['---', ...pieces.flat(), '---'])

const criteria = fc
  .array(fc.tuple(fc.constantFrom(' ', 'x', 'X'), fc.boolean(), word), {
    minLength: 1,
    maxLength: 5,
  })
  .chain((items) => {
    const lines = items.map(
      ([mark, hasNumber, text], at) => `- [${mark}] ${hasNumber ? `#${at + 1} ` : ''}${text}`,
    )
    const marked = ['<!-- AC:BEGIN -->', ...lines, '<!-- AC:END -->']
    const example = ['```', '<!-- AC:BEGIN -->', '- [ ] #1 no', '```']
    return fc.constantFrom(
      ['## Acceptance Criteria', '', ...marked],
      ['## Acceptance Criteria', '', ...lines],
      ['## Acceptance Criteria', ...example, ...lines.flatMap((line) => [line, '    more', ''])],
      marked,
    )
  })

const body = fc
  .tuple(word, criteria, fc.boolean())
  .map(([text, list_, isFirst]) => [
    '',
    ...(isFirst ? [] : ['Intro  ', '']),
    '## Description',
    '',
    `${text}  `,
    '~~~',
    '## Implementation Notes',
    '<<<<<<< a',
    '=======',
    '~~~',
    '',
    ...list_,
    '',
    '## Mine #',
    '- [ ] #1 mine',
    '## Implementation Notes',
    '',
    text,
  ])

const document = fc
  .tuple(head, body, fc.infiniteStream(fc.constantFrom('\n', '\r\n')), fc.boolean(), fc.nat(2))
  .map(([top, rest, ends, isMixed, last]) => {
    const eol = ends.next().value
    const lines = [...top, ...rest, ...Array.from({ length: last }, () => '')]
    const text = lines.map((line) => line + (isMixed ? ends.next().value : eol)).join('')
    return last === 0 ? text.trimEnd() : text
  })

const single = fc.record(
  {
    title: fc.string({ minLength: 1 }).map((text) => `T${text}`.trim().replaceAll(/\s+/g, ' ')),
    status: fc.constantFrom('To Do', 'In Progress', 'Blocked', 'Done'),
    assignee: fc.constantFrom('ann', '', 'a: # b', '007'),
    addLabels: fc.array(word, { maxLength: 2 }),
    removeLabels: fc.array(word, { maxLength: 2 }),
    description: word,
    notes: word,
  },
  { requiredKeys: [] },
) satisfies fc.Arbitrary<Changes>

const linesOf = (text: string) => text.split(/(?<=\n)/)

/** How many lines of one text are missing from the other, in order. */
function lost(before: string, after: string): string[] {
  const rest = linesOf(after)
  let from = 0
  return linesOf(before).filter((line) => {
    const at = rest.indexOf(line, from)
    if (at !== -1) from = at + 1
    return at === -1
  })
}

test('an edit made twice is the edit made once', () => {
  fc.assert(
    fc.property(document, single, (before, asked) => {
      const once = applyChanges(before, asked, NOW)
      expect(applyChanges(once, asked, NOW)).toBe(once)
    }),
    { numRuns: 500 },
  )
})

test('setting a value replaces one value and keeps all comments', () => {
  fc.assert(
    fc.property(document, fc.constantFrom('title', 'assignee'), word, (before, key, value) => {
      const after = applyChanges(before, { [key]: `new ${value}` }, NOW)
      expect(parseTask(after, 'x.md')[key]).toBe(`new ${value}`)
      expect(lost(before, after).length).toBeLessThanOrEqual(2)
      expect(after.match(/ # why/g)).toEqual(before.match(/ # why/g))
      const old = splitFile(before)
      expect(after.slice(splitFile(after).body)).toBe(before.slice(old.body))
    }),
    { numRuns: 500 },
  )
})

test('adding and removing a label restores every byte', () => {
  fc.assert(
    fc.property(document, (before) => {
      const added = applyChanges(before, { addLabels: ['New one'] }, NOW)
      const { labels } = parseTask(before, 'x.md')
      expect(parseTask(added, 'x.md').labels).toEqual([...labels, 'New one'])
      expect(lost(before, added).length).toBeLessThanOrEqual(1)
      expect(applyChanges(added, { removeLabels: ['New one'] }, NOW)).toBe(before)
    }),
    { numRuns: 500 },
  )
})

test('removing a label removes nothing else', () => {
  fc.assert(
    fc.property(document, fc.nat(), (before, pick) => {
      const { labels } = parseTask(before, 'x.md')
      const gone = labels[pick % labels.length]!
      const after = applyChanges(before, { removeLabels: [gone] }, NOW)
      expect(parseTask(after, 'x.md').labels).toEqual(labels.filter((label) => label !== gone))
      expect(lost(before, after).length).toBeLessThanOrEqual(labels.length === 1 ? 2 : 1)
    }),
    { numRuns: 500 },
  )
})

test('checking and unchecking a criterion restores every byte', () => {
  fc.assert(
    fc.property(document, fc.nat(), (before, pick) => {
      const all = readCriteria(before)
      const { number, isDone } = all[pick % all.length]!
      const checked = applyChanges(before, { checkCriteria: [number] }, NOW)
      if (isDone) expect(checked).toBe(before)
      else expect(applyChanges(checked, { uncheckCriteria: [number] }, NOW)).toBe(before)
    }),
    { numRuns: 300 },
  )
})

test('adding and removing a criterion restores every line', () => {
  fc.assert(
    fc.property(document, (before) => {
      const all = readCriteria(before)
      const added = applyChanges(before, { addCriteria: ['new'] }, NOW)
      const { number } = readCriteria(added).at(-1)!
      expect(readCriteria(added)).toEqual([...all, { number, isDone: false, text: 'new' }])
      expect(applyChanges(added, { removeCriteria: [number] }, NOW)).toBe(before)
    }),
    { numRuns: 300 },
  )
})

const NASTY = String.raw`text
  
## Implementation Notes
# Y
~~~~ js
- ~~~
    ~~~
<<<<<<< a
=======
>>>>>>> b
---
<!-- AC:BEGIN -->
<!-- AC:END -->
- [ ] #1 no
$& $1
id: TASK-009`
const nasty = fc
  .array(
    fc.constantFrom(
      ...NASTY.split('\n'),
      '',
      '##\tX',
      '```',
      '  ```',
      'a\rb',
      '\u2028## Z',
      '- ```',
    ),
    { maxLength: 8 },
  )
  .chain((lines) => fc.constantFrom(lines.join('\n'), lines.join('\r\n')))

test('the text of a section never affects other sections', () => {
  fc.assert(
    fc.property(document, nasty, nasty, (before, description, note) => {
      const asked = { description, appendNotes: [note] }
      const after = applyChanges(before, asked, NOW)
      expect(parseTask(after, 'x.md')).toEqual(parseTask(before, 'x.md'))
      expect(readCriteria(after)).toEqual(readCriteria(before))
      const names = (text: string) => findSections(text).map(({ name }) => name)
      expect(names(after)).toEqual(names(before))
      const again = readSection(after, 'Description')
      expect(readSection(applyChanges(after, { description }, NOW), 'Description')).toBe(again)
      expect(again.length).toBeGreaterThanOrEqual(description.trim().replaceAll('\r', '').length)
    }),
    { numRuns: 1000 },
  )
})

const GARBAGE = `labels: [a, b]
labels:
- a
  - b # c
  b: 1
# c

labels: [
  c,
]
  ]
status: To Do # x
status: |
  text
status: "a
  b"
x: &a 1
y: *a
? status
: z
{labels: [a]}
labels: {a: 1}
labels: a, b
"labels": ~
labels: &b [a]
status: !!str 1
...
  status: x
k: v
status: it's
- - a`
const garbage = fc
  .array(fc.constantFrom(...GARBAGE.split('\n')), { minLength: 1, maxLength: 7 })
  .map((lines) => `---\n${lines.join('\n')}\n---\nBody\n`)

test('setting a field changes only that field, or is refused', () => {
  const value = fc.constantFrom('Done', ['a', 'New'], ['b'], [], undefined)
  fc.assert(
    fc.property(garbage, fc.constantFrom('labels', 'status'), value, (before, key, wanted) => {
      const old = readOrNothing(before)
      if (old === undefined) return
      const after = setOrNothing(before, key, wanted)
      if (after === undefined) return
      const { [key]: now, ...others } = readFields(splitFile(after))
      const { [key]: _, ...kept } = old
      expect({ now, others }).toEqual({ now: wanted, others: kept })
      expect(setField(after, key, wanted)).toBe(after)
    }),
    { numRuns: 5000 },
  )
})

function readOrNothing(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return readFields(splitFile(text))
  } catch (error) {
    expect(error).toBeInstanceOf(BrokenFile)
    return undefined
  }
}

function setOrNothing(...args: Parameters<typeof setField>): string | undefined {
  try {
    return setField(...args)
  } catch (error) {
    expect(error).toBeInstanceOf(UserError)
    return undefined
  }
}
