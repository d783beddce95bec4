import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolveConflicts as resolve } from './conflict.ts'
import { readCriteria } from './criteria.ts'
import { parseTask } from '../task.ts'

function resolveConflicts(text: string): string | undefined {
  const resolved = resolve(text)
  return typeof resolved === 'string' ? resolved : undefined
}

/** A conflict as git writes it; with a base in the style diff3. */
function hunk(ours: string, theirs: string, base?: string): string {
  const old = base === undefined ? '' : `||||||| 1234567\n${base}`
  return `<<<<<<< HEAD\n${ours}${old}=======\n${theirs}>>>>>>> other\n`
}

const inFrontmatter = (lines: string) =>
  `---\nid: TASK-001\ntitle: Log in\n${lines}createdAt: 2026-01-20\n---\n\n## Description\n\nWhy\n`

const inCriteria = (lines: string) =>
  inFrontmatter('').concat(
    '\n## Acceptance Criteria\n\n<!-- AC:BEGIN -->\n- [ ] #1 First\n',
    lines,
    '<!-- AC:END -->\n\n## Implementation Plan\n',
  )

const inNotes = (lines: string, heading = 'Implementation Notes') =>
  `${inFrontmatter('')}\n## ${heading}\n\n${lines}\n## Later\n\nEnd\n`

type Case = readonly [name: string, ours: string, theirs: string, expected: string | undefined]
type BaseCase = readonly [...Case, base: string]

const FIELDS: readonly Case[] = [
  ['spaces at the end', 'priority: high  \n', 'priority: high\n\n', 'priority: high  \n'],
  ['lists', 'labels: [a, b]\n', 'labels: [b, "c, d"]\n', 'labels: [a, b, "c, d"]\n'],
  ['an empty list', 'labels: []\n', 'labels: [a]\n', 'labels: [a]\n'],
  [
    'dependencies',
    'dependencies: [TASK-2]\n',
    "dependencies: ['TASK-3']\n",
    'dependencies: [TASK-2, TASK-3]\n',
  ],
  ['a list and a word', 'labels: [a]\n', 'labels: b\n', undefined],
  [
    'times',
    'updatedAt: 2026-02-01T10:00:00Z\n',
    'updatedAt: "2026-02-01T11:30:00+02:00"\n',
    'updatedAt: 2026-02-01T10:00:00Z\n',
  ],
  [
    'times, theirs later',
    'updatedAt: 2026-02-01\n',
    'updatedAt: 2026-02-02\n',
    'updatedAt: 2026-02-02\n',
  ],
  ['a time that is none', 'updatedAt: yesterday\n', 'updatedAt: 2026-02-02\n', undefined],
  ['a further status', 'status: In Progress\n', 'status: Done\n', 'status: Done\n'],
  ['the same status in other letters', 'status: done\n', 'status: Done\n', 'status: done\n'],
  ['a status in quotes', 'status: "in-progress"\n', 'status: todo\n', 'status: "in-progress"\n'],
  ['Blocked against another', 'status: Blocked\n', 'status: Done\n', undefined],
  ['an unknown status', 'status: Waiting\n', 'status: Done\n', undefined],
  [
    'the assignee of the further status',
    'status: Done\nassignee: a\n',
    'status: To Do\nassignee: b\n',
    'status: Done\nassignee: a\n',
  ],
  [
    'an assignee written before the status',
    'assignee: a\nstatus: To Do\n',
    'assignee: b\nstatus: Done\n',
    'assignee: b\nstatus: Done\n',
  ],
  [
    'no assignee with the further status',
    'status: In Progress\nassignee: a\n',
    'status: Done\n',
    'status: Done\n',
  ],
  [
    'two assignees of one status',
    'status: To Do\nassignee: a\n',
    'status: To Do\nassignee: b\n',
    undefined,
  ],
  [
    'one assignee of one status',
    'status: To Do\nassignee: a\nx: 1\n',
    'status: To Do\nx: 1\n',
    'status: To Do\nassignee: a\nx: 1\n',
  ],
  ['keys of one side', 'due: 2026-03-01\n', 'priority: low\n', 'due: 2026-03-01\npriority: low\n'],
  ['nothing on one side', '', 'priority: low\n', 'priority: low\n'],
  ['different priorities', 'priority: low\n', 'priority: high\n', undefined],
  ['different titles', 'title: A\n', 'title: B\n', undefined],
  ['unknown keys', 'constructor: 1\n', 'constructor: 2\n', undefined],
  [
    'one decidable key beside another',
    'status: Done\nparent: TASK-2\n',
    'status: To Do\nparent: TASK-3\n',
    undefined,
  ],
  ['a key twice on one side', 'labels: [a]\nlabels: [b]\n', 'labels: [c]\n', undefined],
  ['a key that is also outside', 'createdAt: 2026-01-01\n', 'due: 2026-01-01\n', undefined],
  ['a list of many lines', 'labels:\n  - a\n', 'labels:\n  - b\n', undefined],
  ['a text of many lines', 'x: |\n  a\n', 'y: 1\n', undefined],
  ['a list with a comment', 'labels: [a] # why\n', 'labels: [b]\n', undefined],
  ['an unclosed list', 'labels: [a,\n', 'labels: [b]\n', undefined],
  ['comments', '# a\n', '# b\n', undefined],
]

const FIELDS_WITH_BASE: readonly BaseCase[] = [
  [
    'a side without a change',
    'priority: low\n',
    'priority: high\n',
    'priority: high\n',
    'priority: low \n',
  ],
  [
    'one change each',
    'priority: low\ndue: 1\n',
    'priority: high\ndue: 2\n',
    'priority: high\ndue: 1\n',
    'priority: low\ndue: 2\n',
  ],
  [
    'a task opened again',
    'status: To Do\nx: 1\n',
    'status: Done\nx: 2\n',
    'status: To Do\nx: 2\n',
    'status: Done\nx: 1\n',
  ],
  [
    'no longer Blocked',
    'status: To Do\nx: 1\n',
    'status: Blocked\nx: 2\n',
    'status: To Do\nx: 2\n',
    'status: Blocked\nx: 1\n',
  ],
  [
    'labels taken away',
    'labels: [a, c]\n',
    'labels: [a, b, d]\n',
    'labels: [a, c, d]\n',
    'labels: [a, b]\n',
  ],
  ['a key taken away', 'x: 1\n', 'due: 1\nx: 2\n', 'x: 1\n', 'due: 1\nx: 2\n'],
  [
    'a key taken away and another changed',
    'x: 2\n',
    'due: 1\nx: 1\nz: 1\n',
    'x: 2\nz: 1\n',
    'due: 1\nx: 1\n',
  ],
  ['two changes of one key', 'due: 2\n', 'due: 3\n', undefined, 'due: 1\n'],
]

const CRITERIA: readonly Case[] = [
  ['a tick', '- [ ] #2 A\n', '- [x] #2 A\n', '- [x] #2 A\n'],
  [
    'ticks on both sides',
    '- [X] #2 A\n- [ ] #3 B\n',
    '- [ ] #2 A\n- [x] #3 B\n',
    '- [X] #2 A\n- [x] #3 B\n',
  ],
  ['other signs', '  * [ ] #2 A\n', '+ [x] #2 A\n', '  * [x] #2 A\n'],
  ['two under one number', '- [x] #2 A\n', '- [ ] #2 B $1\n', '- [x] #2 A\n- [ ] #3 B $1\n'],
  [
    'two pairs',
    '- [ ] #2 A\n- [ ] #3 B\n',
    '- [ ] #2 C\n- [ ] #3 D\n',
    '- [ ] #2 A\n- [ ] #4 C\n- [ ] #3 B\n- [ ] #5 D\n',
  ],
  ['one side longer', '- [ ] #2 A\n', '- [x] #2 A\n- [ ] #3 B\n', '- [x] #2 A\n- [ ] #3 B\n'],
  ['none on one side', '', '- [x] #2 A\n', '- [x] #2 A\n'],
  ['a number that is also outside', '- [ ] #1 A\n', '- [ ] #2 B\n', undefined],
  [
    'a number too long to count on',
    '- [ ] #99999999999999999999 A\n',
    '- [ ] #99999999999999999999 B\n',
    undefined,
  ],
  ['no number', '- [ ] A\n', '- [ ] B\n', undefined],
  ['text between', '- [ ] #2 A\nand\n', '- [ ] #2 B\n', undefined],
]

const CRITERIA_WITH_BASE: readonly BaseCase[] = [
  [
    'a tick taken away',
    '- [ ] #2 A\n- [ ] #3 B\n',
    '- [x] #2 A\n- [x] #3 B\n',
    '- [ ] #2 A\n- [x] #3 B\n',
    '- [x] #2 A\n- [ ] #3 B\n',
  ],
  ['a tick and new words', '- [x] #2 A\n', '- [ ] #2 B\n', '- [x] #2 B\n', '- [ ] #2 A\n'],
  [
    'a removed one',
    '- [x] #3 B\n',
    '- [ ] #2 A\n- [ ] #3 C\n',
    '- [x] #3 C\n',
    '- [ ] #2 A\n- [ ] #3 B\n',
  ],
  ['two new ones', '- [ ] #2 A\n', '- [ ] #2 B\n', '- [ ] #2 A\n- [ ] #3 B\n', ''],
  ['new words on both sides', '- [ ] #2 A\n', '- [ ] #2 B\n', undefined, '- [ ] #2 C\n'],
]

const NOTES: readonly Case[] = [
  ['both', 'A\n', 'B\n', 'A\n\nB\n'],
  ['both with blank lines around', 'A\n\n', '\n\nB\n\n', 'A\n\nB\n\n'],
  ['one that contains the other', 'A\n', 'B\nA\n', 'B\nA\n'],
  ['ours contains theirs', 'A\nB\nC\n', 'B\n', 'A\nB\nC\n'],
  ['one that begins like the other', 'A b\n', 'A\n', 'A b\n\nA\n'],
  ['nothing on one side', '', 'B\n', 'B\n'],
  ['criteria as text', '- [ ] #1 A\n', '- [ ] #1 B\n', '- [ ] #1 A\n\n- [ ] #1 B\n'],
  ['code', '```\n## A\n```\n', 'B\n', '```\n## A\n```\n\nB\n'],
  ['code that the hunk leaves open', 'A\n```\nx\n', 'B\n', undefined],
  ['another section', 'A\n\n## More\n\nB\n', 'C\n', undefined],
]

const PLACES = [
  ['the frontmatter', inFrontmatter, FIELDS],
  ['the criteria', inCriteria, CRITERIA],
  ['the notes', inNotes, NOTES],
] as const

describe.each(PLACES)('a conflict in %s', (_place, around, cases) => {
  test.each([...cases])('%s', (_, ours, theirs, expected) => {
    expectResolved(around(hunk(ours, theirs)), expected && around(expected))
  })

  test.each([...cases])('%s, with Windows line ends', (_, ours, theirs, expected) => {
    const windows = (text: string) => text.replaceAll('\n', '\r\n')
    expectResolved(windows(around(hunk(ours, theirs))), expected && windows(around(expected)))
  })
})

const PLACES_WITH_BASE = [
  ['the frontmatter', inFrontmatter, FIELDS_WITH_BASE],
  ['the criteria', inCriteria, CRITERIA_WITH_BASE],
] as const

describe.each(PLACES_WITH_BASE)('a conflict with its base in %s', (_place, around, cases) => {
  test.each([...cases])('%s', (_, ours, theirs, expected, base) => {
    expectResolved(around(hunk(ours, theirs, base)), expected && around(expected))
  })
})

function expectResolved(text: string, expected: string | undefined): void {
  const resolved = resolveConflicts(text)
  expect(resolved).toBe(expected)
  if (resolved === undefined) return
  expect(parseTask(resolved, 'TASK-001.md').id).toBe('TASK-001')
  expect(resolveConflicts(resolved)).toBe(resolved)
}

describe('a conflict elsewhere', () => {
  test('is left to a person, unless both sides are the same', () => {
    const around = (lines: string) => `${inFrontmatter('')}\n${lines}`
    expectResolved(around(hunk('A\n', 'B\n')), undefined)
    expectResolved(around(hunk('A \n', '\nA\n')), around('A \n'))
  })

  test('is resolved to the side that changed something', () => {
    const around = (lines: string) => `${inFrontmatter('')}\n${lines}`
    expectResolved(around(hunk('A\n', 'B\n', 'A \n')), around('B\n'))
    expectResolved(around(hunk('B\n', 'A\n', 'A\n\n')), around('B\n'))
  })

  test('is recognised in a notes section with the other name', () => {
    const around = (lines: string) => inNotes(lines, 'Notes ##')
    expectResolved(around(hunk('A\n', 'B\n')), around('A\n\nB\n'))
  })

  test('is resolved among criteria without marker comments', () => {
    const around = (lines: string) => inNotes(lines, 'Acceptance Criteria')
    expectResolved(around(hunk('- [ ] #7 A\n', '- [x] #7 A\n')), around('- [x] #7 A\n'))
  })

  test('is resolved between the comments of the criteria in any section', () => {
    const block = (line: string) => `<!-- AC:BEGIN -->\n${line}<!-- AC:END -->\n`
    const around = (lines: string) => inNotes(block(lines), 'Goal')
    expectResolved(around(hunk('- [ ] #7 A\n', '- [x] #7 A\n')), around('- [x] #7 A\n'))
    const behind = (lines: string) => inNotes(`${block('')}${lines}`, 'Goal')
    expectResolved(behind(hunk('- [ ] #7 A\n', '- [x] #7 A\n')), undefined)
  })

  test('is left to a person if both sides begin with the same code', () => {
    const text = `${hunk('```sh\na\n', '```sh\nb\n', '')}\`\`\`\n`
    expect(resolveConflicts(inNotes(text))).toBeUndefined()
  })

  test('is left to a person if it spans frontmatter and body', () => {
    const side = (status: string) => `status: ${status}\n---\n\n${status}\n`
    const text = `---\nid: TASK-001\n${hunk(side('Done'), side('To Do'))}\nMore\n`
    expectResolved(text, undefined)
  })

  test('is left to a person if a list continues after it', () => {
    expectResolved(inFrontmatter(`${hunk('labels:\n', 'x: 1\n')}  - a\n`), undefined)
  })

  test('is resolved if it contains a heading', () => {
    const around = (lines: string) => `${inFrontmatter('')}\n${lines}`
    const side = (note: string) => `## Implementation Notes\n\n${note}\n`
    expectResolved(around(hunk(side('A'), side('B'), '')), around(side('A\n\nB')))
  })
})

describe('several conflicts', () => {
  const around = (status: string, note: string) =>
    inNotes(note).replace('createdAt', `${status}createdAt`)
  const status = hunk('status: Done\n', 'status: To Do\n')

  test('are all resolved', () => {
    expectResolved(around(status, hunk('A\n', 'B\n')), around('status: Done\n', 'A\n\nB\n'))
  })

  test('are all left to a person if one of them is', () => {
    const title = hunk('priority: low\n', 'priority: high\n')
    expectResolved(around(title, hunk('A\n', 'B\n')), undefined)
    expectResolved(around(status, hunk('A\n## X\n', 'B\n')), undefined)
  })

  test('share the decision about the status', () => {
    const assignee = hunk('assignee: a\n', 'assignee: b\n')
    expectResolved(
      inFrontmatter(`${status}priority: low\n${assignee}`),
      inFrontmatter('status: Done\npriority: low\nassignee: a\n'),
    )
  })

  test('share the free numbers', () => {
    const pair = (number: number) => hunk(`- [ ] #${number} A\n`, `- [ ] #${number} B\n`)
    const text = inCriteria(`${pair(2)}- [ ] #9 M\n${pair(3)}`)
    const lines = ['#2 A', '#10 B', '#9 M', '#3 A', '#11 B'].map((words) => `- [ ] ${words}\n`)
    expectResolved(text, inCriteria(lines.join('')))
    const numbers = readCriteria(resolveConflicts(text)!).map(({ number }) => number)
    expect(numbers).toEqual([1, 2, 10, 9, 3, 11])
  })
})

describe('markers', () => {
  const note = hunk('A\n', 'B\n')

  test('inside a code block are text', () => {
    const code = `\`\`\`\n${hunk('x\n', 'y\n')}\`\`\`\n`
    expect(resolveConflicts(inNotes(code))).toBe(inNotes(code))
    expect(resolveConflicts(inNotes(`${code}\n${note}`))).toBe(inNotes(`${code}\nA\n\nB\n`))
  })

  test('that underline a heading are text', () => {
    expectResolved(inNotes('Title\n=======\n'), inNotes('Title\n=======\n'))
  })

  test.each([
    ['nested', hunk(note, 'C\n')],
    ['nested in the base', hunk('A\n', 'B\n', '<<<<<<<<< one\nC\n=========\nD\n>>>>>>>>> two\n')],
    ['two separators', hunk('A\n=======\nC\n', 'B\n')],
    ['two bases', hunk('A\n', 'B\n', 'C\n||||||| x\n')],
    ['a base after the separator', hunk('A\n', '||||||| x\nB\n')],
    ['no separator', note.replace('=======\n', '')],
    ['no beginning', note.replace('<<<<<<< HEAD\n', '')],
    ['no end', note.replace('>>>>>>> other\n', '')],
    ['a base alone', '||||||| x\n'],
    ['code in a list', `- \`\`\`\n  x\n${note}  \`\`\`\n`],
  ])('that do not form a conflict are left to a person: %s', (_, text) => {
    expect(resolveConflicts(inNotes(text))).toBeUndefined()
  })

  test('need no name and no final line end', () => {
    const text = `${inFrontmatter('')}\n## Notes\n\n<<<<<<<\nA\n=======\nB\n>>>>>>>`
    expectResolved(text, `${inFrontmatter('')}\n## Notes\n\nA\n\nB\n`)
  })
})

describe('a conflict that git made', () => {
  let folder = ''
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'forge-conflict-'))
    git('init', '--quiet', '--initial-branch=main')
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  function git(...words: string[]): number {
    const identity = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
    const settings = [...identity, '-c', 'core.autocrlf=false', '-c', 'commit.gpgSign=false']
    return Bun.spawnSync(['git', ...settings, ...words], { cwd: folder }).exitCode
  }

  function commit(text: string): void {
    writeFileSync(join(folder, 'task.md'), text)
    git('add', '.')
    git('commit', '--quiet', '--allow-empty', '--message=change')
  }

  /** The file as a merge of two branches leaves it. */
  function merge(style: string, base: string, ours: string, theirs: string): string {
    git('checkout', '--quiet', '--orphan', 'start')
    commit(base)
    git('checkout', '--quiet', '-B', 'other')
    commit(theirs)
    git('checkout', '--quiet', '-B', 'mine', 'start')
    commit(ours)
    expect(git('-c', `merge.conflictStyle=${style}`, 'merge', '--quiet', 'other')).toBe(1)
    const text = readFileSync(join(folder, 'task.md'), 'utf8')
    git('reset', '--quiet', '--hard')
    git('branch', '--quiet', '-D', 'start')
    return text
  }

  const file = (head: string, criteria: string, notes: string) =>
    inCriteria(criteria)
      .replace('createdAt', `${head}createdAt`)
      .concat(`\nHow\n\n## Implementation Notes\n${notes}`)

  const BASE = file('status: To Do\npriority: low\n', '- [ ] #2 Second\n', '')
  const OURS = file(
    'status: In Progress\npriority: low\nassignee: a\nlabels: [x]\n',
    '- [x] #2 Second\n- [ ] #3 Mine\n',
    '\nMine\n',
  )
  const THEIRS = file(
    'status: Done\npriority: low\nassignee: b\nlabels: [y]\n',
    '- [ ] #2 Second\n- [x] #3 Yours\n',
    '\nYours\n\n```sh\nrun\n```\n',
  )
  const RESOLVED = file(
    'status: Done\npriority: low\nassignee: b\nlabels: [x, y]\n',
    '- [x] #2 Second\n- [ ] #3 Mine\n- [x] #4 Yours\n',
    '\nMine\n\nYours\n\n```sh\nrun\n```\n',
  )
  const windows = (text: string) => text.replaceAll('\n', '\r\n')

  test.each(['merge', 'diff3', 'zdiff3'])('is resolved in the style %s', (style) => {
    expectResolved(merge(style, BASE, OURS, THEIRS), RESOLVED)
    const text = merge(style, windows(BASE), windows(OURS), windows(THEIRS))
    expectResolved(text, windows(RESOLVED))
  })

  test.each(['merge', 'diff3', 'zdiff3'])('does not duplicate notes in the style %s', (style) => {
    const base = inNotes('').replace(/\n## Later[^]*/, 'Old')
    const text = merge(style, base, `${base}\n\nA\n`, `${base}\n\nB\n`)
    expectResolved(text, `${base}\n\nA\n\nB\n`)
  })

  test.each(['merge', 'diff3', 'zdiff3'])('is left to a person in the style %s', (style) => {
    const theirs = THEIRS.replace('priority: low', 'priority: high')
    const ours = OURS.replace('priority: low', 'priority: medium')
    expect(resolveConflicts(merge(style, BASE, ours, theirs))).toBeUndefined()
  })
})

describe('any text', () => {
  const line = fc.constantFrom(
    'status: Done',
    'status: To Do',
    'assignee: a',
    'labels: [a]',
    'labels: [b, c]',
    'title: A',
    '- [ ] #1 A',
    '- [x] #1 A',
    '- [ ] #2 B',
    '- [ ] #2 C',
    '',
    'Note',
    'Other note',
    '---',
    '## Notes',
    '## Acceptance Criteria',
    '```',
    '=======',
    '<!-- AC:BEGIN -->',
    '- ```',
  )
  const anyLine = fc.oneof(line, fc.string({ unit: 'grapheme' }))
  const lines = fc.array(line, { maxLength: 4 })
  const eol = fc.constantFrom('\n', '\r\n')

  test('without markers is returned as it is', () => {
    fc.assert(
      fc.property(fc.array(anyLine), eol, fc.boolean(), (all, end, isEnded) => {
        const clean = all.filter((text) => !/^[\s\S]*[<|>]{7}/.test(text))
        const text = clean.join(end) + (isEnded ? end : '')
        expect(resolveConflicts(text)).toBe(text)
      }),
    )
  })

  test('keeps every byte outside its conflicts', () => {
    const part = fc.record({ before: lines, ours: lines, theirs: lines })
    const head = fc.constantFrom(['---', 'id: 1'], ['---', '---', '## Notes', ''], ['---', '---'])
    let resolvedOnes = 0
    fc.assert(
      fc.property(
        head,
        fc.array(part, { minLength: 1, maxLength: 3 }),
        eol,
        (start, parts, end) => {
          const joined = (all: readonly string[]) => all.map((text) => text + end).join('')
          const sides = parts.map(({ ours, theirs }) =>
            joined(['<<<<<<< HEAD', ...ours, '=======', ...theirs, '>>>>>>> other']),
          )
          const outside = [...parts.map(({ before }) => joined(before)), joined(['Last'])]
          const text = outside.map((piece, index) => piece + (sides[index] ?? '')).join('')
          const resolved = resolveConflicts(joined(start) + text)
          if (resolved === undefined) return
          resolvedOnes += 1
          expectInOrder(resolved, [joined(start) + outside[0]!, ...outside.slice(1)])
        },
      ),
      { numRuns: 3000 },
    )
    expect(resolvedOnes).toBeGreaterThan(100)
  })

  function expectInOrder(text: string, pieces: readonly string[]): void {
    expect(text).toStartWith(pieces[0]!)
    expect(text).toEndWith(pieces.at(-1)!)
    let at = 0
    for (const piece of pieces) {
      const found = text.indexOf(piece, at)
      expect(found).not.toBe(-1)
      at = found + piece.length
    }
  }
})
