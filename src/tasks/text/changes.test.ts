import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readSection } from './body.ts'
import { applyChanges, type Changes } from './changes.ts'
import { readCriteria } from './criteria.ts'
import { parseTask, type Task } from '../task.ts'

// A document is a list of pieces, and a test says which of them an edit may touch.

interface Piece {
  /** The change that may touch it; no edit may if absent. */
  readonly key?: string
  readonly text: string
}

interface Document {
  readonly head: readonly Piece[]
  readonly body: readonly Piece[]
  readonly eol: string
  readonly bom: string
}

const NOW = new Date('2026-01-01T00:00:00.000Z')

const word = fc.stringMatching(/^[a-z]{1,8}$/)
const id = fc.integer({ min: 2, max: 9 }).map((number) => `TASK-00${number}`)

const list = (key: string, item: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.uniqueArray(item, { maxLength: 3 }), fc.constantFrom('flow', 'block', 'margin'))
    .map(([items, layout]) => {
      if (layout === 'flow' || items.length === 0) return `${key}: [${items.join(', ')}]\n`
      const indent = layout === 'block' ? '  ' : ''
      return `${key}:\n${items.map((each) => `${indent}- ${each}\n`).join('')}`
    })

const known: Readonly<Record<string, fc.Arbitrary<string>>> = {
  title: word.map((text) => `title: "The ${text}"\n`),
  status: fc.constantFrom('status: To Do\n', "status: 'in progress'\n", 'status:   Blocked\n'),
  priority: fc.constantFrom('priority: high\n', 'priority: low\n'),
  assignee: word.map((text) => `assignee: ${text}\n`),
  labels: list('labels', word),
  dependencies: list('dependencies', id),
  parent: id.map((text) => `parent: ${text}\n`),
  due: fc.constant('due: 2026-05-05\n'),
}

const unknownField = fc
  .tuple(word, fc.nat(6))
  .map(
    ([text, kind]) =>
      [
        `x_${text}: 1 # ${text}\n`,
        `# ${text}\n`,
        `y_${text}:\n  status: nested\n  labels: [z]\n`,
        `z_${text}: |\n  title: text\n\n  # no comment\n`,
        `"q ${text}": {a: [1, 2], b: '${text}'}\n`,
        `w_${text}:   spaced   \n`,
        `\n`,
      ][kind]!,
  )

const criteria = fc
  .tuple(
    fc.array(
      fc.record({
        gap: fc.nat(3),
        bare: fc.boolean(),
        mark: fc.constantFrom(' ', 'x', 'X'),
        text: word,
      }),
      { maxLength: 5 },
    ),
    fc.boolean(),
  )
  .map(([items, hasNote]) => {
    let number = 0
    const lines = items.map(({ gap, bare, mark, text }) => {
      number += bare ? 1 : gap + 1
      return `- [${mark}] ${bare ? '' : `#${number} `}${text}\n`
    })
    return `<!-- AC:BEGIN -->\n${hasNote ? 'By hand.\n\n' : ''}${lines.join('')}<!-- AC:END -->`
  })

const prose = fc
  .array(
    fc.oneof(
      word,
      word.map((text) => `${text}  \n${text}`),
      word.map((text) => `\`\`\`md\n## Description\n\n- [ ] #1 ${text}\n\`\`\``),
      word.map((text) => `~~~\n## ${text}\n~~~`),
      word.map((text) => `### ${text}\n\n<!-- ${text} -->`),
    ),
    { maxLength: 3 },
  )
  .map((parts) => parts.join('\n\n'))

const section = (key: string, content: fc.Arbitrary<string>): fc.Arbitrary<Piece> =>
  content.map((text) => ({ key, text: text === '' ? `## ${key}\n` : `## ${key}\n\n${text}\n` }))

const bodyPiece = fc.oneof(
  prose.map((text): Piece => ({ text: `## Extra\n\n${text}\n` })),
  word.map((text): Piece => ({ text: `## ${text} (by hand)\n* [ ] #1 ${text}\n` })),
)

const document: fc.Arbitrary<Document> = fc
  .record({
    fields: fc
      .subarray(Object.keys(known))
      .chain((keys) =>
        fc.tuple(...keys.map((key) => known[key]!.map((text): Piece => ({ key, text })))),
      ),
    unknown: fc.uniqueArray(unknownField, { maxLength: 4 }),
    sections: fc
      .tuple(
        section('Description', prose),
        section('Acceptance Criteria', criteria),
        section('Implementation Plan', prose),
        section('Implementation Notes', prose),
      )
      .chain((all) => fc.subarray(all)),
    extra: fc.array(bodyPiece, { maxLength: 2 }),
    seed: fc.nat(),
    eol: fc.constantFrom('\n', '\r\n'),
    bom: fc.constantFrom('', '\uFEFF'),
  })
  .map(({ fields, unknown, sections, extra, seed, eol, bom }) => ({
    head: shuffle(
      [{ text: 'id: TASK-001\n' }, ...fields, ...unknown.map((text) => ({ text }))],
      seed,
    ),
    body: mix(sections, extra, seed),
    eol,
    bom,
  }))

function shuffle<Item>(items: readonly Item[], seed: number): Item[] {
  return items
    .map((item, index) => ({ item, order: Math.sin(seed + index * 7919) }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

/** The known sections keep their order, as in a file that forge-tasks once wrote. */
function mix(sections: readonly Piece[], extra: readonly Piece[], seed: number): Piece[] {
  const pieces = [...sections]
  for (const [index, piece] of extra.entries()) {
    pieces.splice((seed + index) % (pieces.length + 1), 0, piece)
  }
  return pieces
}

function render({ head, body, eol, bom }: Document): string {
  const yaml = head.map(({ text }) => text).join('')
  const text = `---\n${yaml}---\n\n${body.map((piece) => piece.text).join('\n')}`
  return bom + text.replaceAll('\n', eol)
}

const changes: fc.Arbitrary<Changes> = fc.record(
  {
    title: fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => text === text.trim().replaceAll(/\s+/g, ' ')),
    status: fc.constantFrom('To Do', 'In Progress', 'Blocked', 'Done'),
    priority: fc.constantFrom('high', 'medium', 'low', 'none'),
    assignee: fc.oneof(word, fc.constant('')),
    parent: fc.oneof(id, fc.constant('')),
    due: fc.constantFrom('2027-01-01', ''),
    addLabels: fc.array(word, { maxLength: 2 }),
    addDependencies: fc.array(id, { maxLength: 2 }),
    description: word,
    plan: word,
    appendNotes: fc.array(word, { maxLength: 2 }),
    addCriteria: fc.array(word, { maxLength: 2 }),
  },
  { requiredKeys: [] },
)

/** The pieces that an edit may touch. */
function touchedBy(asked: Changes): Set<string> {
  const names: Readonly<Record<string, string>> = {
    addLabels: 'labels',
    addDependencies: 'dependencies',
    description: 'Description',
    plan: 'Implementation Plan',
    appendNotes: 'Implementation Notes',
    addCriteria: 'Acceptance Criteria',
  }
  return new Set(Object.keys(asked).map((key) => names[key] ?? key))
}

/** The pieces that must survive are there in order, byte for byte. */
function expectKept({ head, body, eol, bom }: Document, after: string, touched: Set<string>): void {
  expect(after.startsWith(`${bom}---${eol}`)).toBe(true)
  let from = 0
  for (const { key, text } of [...head, ...body]) {
    if (key !== undefined && touched.has(key)) continue
    // Blank lines around a section may change.
    const piece = text.startsWith('## ') ? text.trimEnd() : text
    const at = after.indexOf(piece.replaceAll('\n', eol), from)
    if (at === -1) throw new Error(`lost: ${JSON.stringify(piece)} in\n${JSON.stringify(after)}`)
    from = at + piece.replaceAll('\n', eol).length
  }
  if (eol === '\r\n') expect(after.replaceAll('\r\n', '')).not.toContain('\n')
  else expect(after).not.toContain('\r')
}

function expectValues(before: Task, after: Task, asked: Changes): void {
  const single = (key: 'assignee' | 'parent' | 'due') =>
    asked[key] === undefined ? before[key] : asked[key] || undefined
  const priority = asked.priority === 'none' ? undefined : asked.priority
  expect(after).toEqual({
    ...before,
    title: asked.title ?? before.title,
    status: asked.status ?? before.status,
    priority: asked.priority === undefined ? before.priority : priority,
    assignee: single('assignee'),
    parent: single('parent'),
    due: single('due'),
    labels: [...new Set([...before.labels, ...(asked.addLabels ?? [])])],
    dependencies: [...new Set([...before.dependencies, ...(asked.addDependencies ?? [])])],
  })
}

function expectSections(before: string, after: string, asked: Changes, eol: string): void {
  const notes = readSection(before, 'Implementation Notes')
  const expected = {
    Description: asked.description ?? readSection(before, 'Description'),
    'Implementation Plan': asked.plan ?? readSection(before, 'Implementation Plan'),
    'Implementation Notes': [notes, ...(asked.appendNotes ?? [])].join(eol.repeat(2)).trim(),
  } as const
  for (const name of ['Description', 'Implementation Plan', 'Implementation Notes'] as const) {
    expect(readSection(after, name)).toBe(expected[name])
  }
}

test('an edit changes what it was asked for, and not one byte more', () => {
  fc.assert(
    fc.property(document, changes, (doc, asked) => {
      const before = render(doc)
      const after = applyChanges(before, asked, NOW)
      expectKept(doc, after, touchedBy(asked))
      expectValues(parseTask(before, 'x.md'), parseTask(after, 'x.md'), asked)
      expectSections(before, after, asked, doc.eol)
      expect(readCriteria(after).map(({ text }) => text)).toEqual([
        ...readCriteria(before).map(({ text }) => text),
        ...(asked.addCriteria ?? []),
      ])
    }),
    { numRuns: 1500 },
  )
})

test('an empty edit changes nothing', () => {
  fc.assert(
    fc.property(document, (doc) => {
      expect(applyChanges(render(doc), {}, NOW)).toBe(render(doc))
    }),
  )
})

test('an edit to the current values changes nothing', () => {
  fc.assert(
    fc.property(document, (doc) => {
      const before = render(doc)
      const { labels, dependencies } = parseTask(before, 'x.md')
      const same = { addLabels: labels, addDependencies: dependencies }
      expect(applyChanges(before, same, NOW)).toBe(before)
    }),
  )
})

test('a status that is already set keeps its spelling', () => {
  const text = '---\nid: TASK-001\nstatus: todo # later\n---\n'
  expect(applyChanges(text, { status: 'To Do' }, NOW)).toBe(text)
})

test('ticking a criterion changes one character, whatever is around it', () => {
  fc.assert(
    fc.property(document, fc.nat(), fc.boolean(), (doc, pick, isDone) => {
      const before = render(doc)
      const all = readCriteria(before)
      fc.pre(all.length > 0)
      const { number } = all[pick % all.length]!
      const key = isDone ? 'checkCriteria' : 'uncheckCriteria'
      const after = applyChanges(before, { [key]: [number] }, NOW)
      const differs = before.split('').filter((unit, index) => unit !== after[index])
      expect(after.length).toBe(before.length)
      expect(differs.length).toBeLessThanOrEqual(1)
      expect(readCriteria(after)).toEqual(
        all.map((each) => (each.number === number ? { ...each, isDone } : each)),
      )
    }),
    { numRuns: 300 },
  )
})

test('removing a criterion removes only its line', () => {
  fc.assert(
    fc.property(document, fc.nat(), (doc, pick) => {
      const before = render(doc)
      const all = readCriteria(before)
      fc.pre(all.length > 0)
      const { number } = all[pick % all.length]!
      const after = applyChanges(before, { removeCriteria: [number] }, NOW)
      const lines = before.split(doc.eol)
      const rest = after.split(doc.eol)
      const first = lines.findIndex((line, index) => line !== rest[index])
      expect(rest).toEqual(lines.toSpliced(first, 1))
    }),
    { numRuns: 300 },
  )
})

test('updatedAt is updated if it exists, and never added', () => {
  const text = '---\nid: TASK-001\nupdatedAt: 2020-01-01\nx: 1\n---\n'
  expect(applyChanges(text, { assignee: 'ann' }, NOW)).toBe(
    '---\nid: TASK-001\nupdatedAt: 2026-01-01T00:00:00.000Z\nx: 1\nassignee: ann\n---\n',
  )
  expect(applyChanges(text, {}, NOW)).toBe(text)
})

test.each([
  ['labels:\n  - a # first\n  - b\nx: 1\n', 'a list of blocks keeps its lines and comments'],
  ['labels:\n  # the team agreed on these\n  - a\n  - b\nx: 1\n', 'a comment above an item stays'],
  ['labels: [a, b] # why\nx: 1\n', 'a comment after a list stays'],
])('%j: %s', (yaml) => {
  const after = applyChanges(`---\nid: TASK-001\n${yaml}---\n`, { addLabels: ['c'] }, NOW)
  expect(parseTask(after, 'x.md').labels).toEqual(['a', 'b', 'c'])
  for (const comment of yaml.match(/# .*/g) ?? []) expect(after).toContain(comment)
})

test('a label that YAML reads as a number keeps its digits', () => {
  const text = '---\nid: TASK-001\nlabels: [1.10, v2]\n---\n'
  expect(parseTask(applyChanges(text, { addLabels: ['x'] }, NOW), 'x.md').labels).toEqual([
    '1.10',
    'v2',
    'x',
  ])
})
