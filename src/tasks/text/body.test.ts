import { describe, expect, test } from 'bun:test'
import { appendToSection, findSections, readSection, setSection } from './body.ts'

const HEAD = '---\nid: TASK-001\n---\n'
const FULL = `${HEAD}
Intro

## Description

Why

\`\`\`md
## Not a heading
\`\`\`

## Extra ##

Mine

## Plan

How
## Implementation Notes
`

describe('findSections', () => {
  test('finds headings, except inside code blocks', () => {
    expect(findSections(FULL).map(({ name }) => name)).toEqual([
      'Description',
      'Extra',
      'Plan',
      'Implementation Notes',
    ])
  })

  test('keeps a # that belongs to the name', () => {
    expect(findSections(`${HEAD}\n## About C#\n`).map(({ name }) => name)).toEqual(['About C#'])
  })
})

describe('readSection', () => {
  test.each([
    ['Description', 'Why\n\n```md\n## Not a heading\n```'],
    ['Implementation Plan', 'How'],
    ['Implementation Notes', ''],
    ['Acceptance Criteria', ''],
  ] as const)('gives the text of %s', (name, expected) => {
    expect(readSection(FULL, name)).toBe(expected)
  })
})

describe('setSection', () => {
  test('replaces the text and nothing else', () => {
    expect(setSection(FULL, 'Implementation Plan', 'New\n')).toBe(FULL.replace('How', 'New'))
    expect(setSection(FULL, 'Description', 'A')).toBe(FULL.replace(/Why[\s\S]*?```\n\n/, 'A\n\n'))
  })

  test('fills an empty section at the end of the file, with and without a last newline', () => {
    expect(setSection(FULL, 'Implementation Notes', 'Done')).toBe(`${FULL}\nDone\n`)
    expect(setSection(FULL.trimEnd(), 'Implementation Notes', 'Done')).toBe(`${FULL}\nDone\n`)
  })

  test('puts a missing section where it belongs', () => {
    expect(setSection(FULL, 'Acceptance Criteria', 'X')).toBe(
      FULL.replace('## Plan', '## Acceptance Criteria\n\nX\n\n## Plan'),
    )
    expect(setSection(HEAD, 'Description', 'X')).toBe(`${HEAD}\n## Description\n\nX\n`)
    expect(setSection('---\nid: TASK-001\n---', 'Description', 'X')).toBe(
      `${HEAD}\n## Description\n\nX\n`,
    )
  })

  test('keeps trailing spaces before an inserted section', () => {
    const before = `${HEAD}\nA line with a break  \n\n\n`
    expect(setSection(before, 'Description', 'X')).toStartWith(`${HEAD}\nA line with a break  \n`)
  })

  test('replaces an indented text completely', () => {
    const before = `${HEAD}\n## Description\n\n    code\n`
    expect(setSection(before, 'Description', 'X')).toBe(`${HEAD}\n## Description\n\nX\n`)
  })

  test.each([
    ['a heading', 'First\n\n## Acceptance Criteria\n\n- [ ] #1 last'],
    ['an unknown heading', 'First\n\n## Steps\n\nlast'],
    ['a code block that is not closed', 'First\n\n```\nlast'],
  ])('a text with %s stays whole, and no other section changes', (_, words) => {
    const changed = setSection(FULL, 'Description', words)
    expect(readSection(changed, 'Description')).toMatch(/^First[\s\S]*last(?:\n```)?$/)
    expect(readSection(changed, 'Implementation Plan')).toBe('How')
    expect(readSection(changed, 'Acceptance Criteria')).toBe('')
  })

  test.each([
    ['a conflict', 'a\n<<<<<<< x\n=======\n>>>>>>> y', 'a\n\\<<<<<<< x\n=======\n>>>>>>> y'],
    ['a conflict in a code block', '```\n<<<<<<< x\n=======\n```', '```\n<<<<<<< x\n=======\n```'],
    ['headings', '# A\n## B ##\n### C\n##D', '# A\n### B ##\n### C\n##D'],
    ['a heading in a code block', '~~~\n## B\n~~~', '~~~\n## B\n~~~'],
    ['an open block', '~~~~ js\n~~~\nx', '~~~~ js\n~~~\nx\n~~~~'],
    ['an open block in a list', '1. ```\n   x', '1. ```\n   x\n   ```'],
    [
      'criteria',
      '<!-- AC:BEGIN -->\n- [ ] x\n<!-- AC:END -->',
      '\\<!-- AC:BEGIN -->\n- [ ] x\n<!-- AC:END -->',
    ],
    ['an indented first line', '\n \n    code\n\n', '    code'],
  ])('%s of a text that is given', (_, words, written) => {
    const changed = setSection(FULL, 'Implementation Plan', words)
    expect(changed).toBe(FULL.replace('How', () => written))
    expect(setSection(changed, 'Implementation Plan', words)).toBe(changed)
  })

  test('empties a section, and a second time changes nothing', () => {
    const empty = setSection(FULL, 'Implementation Plan', ' \n')
    expect(empty).toBe(FULL.replace('## Plan\n\nHow\n', '## Plan\n'))
    expect(setSection(empty, 'Implementation Plan', '')).toBe(empty)
    expect(setSection(HEAD, 'Implementation Plan', '')).toBe(HEAD)
  })

  test('keeps criteria without a heading', () => {
    const before = `${HEAD}\n## Description\n\nWhy  \n\n<!-- AC:BEGIN -->\n- [ ] #1 a\n<!-- AC:END -->\n`
    expect(setSection(before, 'Description', 'New')).toBe(before.replace('Why  ', 'New'))
    expect(readSection(before, 'Description')).toBe('Why')
  })

  test('closes an open code block before it adds a section', () => {
    const before = `${HEAD}\n## Description\n\n\`\`\`js\nx`
    const after = setSection(before, 'Implementation Notes', 'Done')
    expect(after).toBe(`${before}\n\`\`\`\n\n## Implementation Notes\n\nDone\n`)
    expect(readSection(after, 'Implementation Notes')).toBe('Done')
  })

  test('uses the line ends of the file', () => {
    const crlf = FULL.replaceAll('\n', '\r\n')
    expect(setSection(crlf, 'Implementation Notes', 'a\nb\r\nc')).toBe(
      `${FULL}\na\nb\nc\n`.replaceAll('\n', '\r\n'),
    )
  })
})

test('appendToSection keeps the old text byte for byte', () => {
  const before = `${HEAD}\n## Implementation Notes\n\nOne  \r\nTwo\n\n\n\nThree\n\n## Extra\n`
  expect(appendToSection(before, 'Implementation Notes', ['Four'])).toBe(
    before.replace('Three\n', 'Three\n\nFour\n'),
  )
})

test('appendToSection closes an open code block', () => {
  const before = `${HEAD}\n## Implementation Notes\n\n~~~\nx\n`
  expect(appendToSection(before, 'Implementation Notes', ['~~~\n## y'])).toBe(
    `${HEAD}\n## Implementation Notes\n\n~~~\nx\n~~~\n\n~~~\n## y\n~~~\n`,
  )
})
