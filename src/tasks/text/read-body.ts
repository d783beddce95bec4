import {
  CRITERIA_BEGIN,
  CRITERIA_END,
  findSection,
  isKnown,
  readOutline,
  readSection,
  SECTIONS,
  type Outline,
} from './body.ts'
import {
  criterionOf,
  findCriterionItems,
  findPlace,
  type Criterion,
  type CriterionItem,
} from './criteria.ts'
import type { Span } from './yaml-tokens.ts'

interface Checklist {
  readonly criteria: readonly Criterion[]
  /** The criteria and any text between them, in the order of the file. */
  readonly checklist: readonly (Criterion | string)[]
}

/** Everything below the frontmatter. */
export interface Body extends Checklist {
  /** The text before the first section. */
  readonly intro: string
  readonly description: string
  readonly plan: string
  readonly notes: string
  /** Unknown sections and repeated known ones. */
  readonly others: readonly Other[]
}

interface Other {
  readonly name: string
  readonly text: string
}

export function readBody(text: string): Body {
  const outline = readOutline(text)
  const { intro, sections } = outline
  return {
    intro: text.slice(intro.start, intro.end).trimEnd(),
    description: readSection(text, 'Description', sections),
    ...readChecklist(text, outline),
    plan: readSection(text, 'Implementation Plan', sections),
    notes: readSection(text, 'Implementation Notes', sections),
    others: readOthers(text, outline),
  }
}

function readOthers(text: string, { sections }: Outline): Other[] {
  const own = new Set(SECTIONS.map((name) => findSection(text, name, sections)))
  const others = sections.filter((section) => !own.has(section))
  return others
    .map(({ name, content }) => ({ name, text: text.slice(content.start, content.end) }))
    .filter((other) => other.text !== '' || !isKnown(other.name))
}

/** The notes under either of their headings. */
export function readNotes(text: string): string {
  const texts = readOutline(text)
    .sections.filter(({ name }) => name === 'Implementation Notes' || name === 'Notes')
    .map(({ content }) => text.slice(content.start, content.end).trimEnd())
  return texts.filter((each) => each !== '').join('\n\n')
}

function readChecklist(text: string, { sections, loose }: Outline): Checklist {
  const home = findSection(text, 'Acceptance Criteria', sections)
  const area = home === undefined ? loose : { start: home.content.start, end: home.end }
  if (area === undefined) return { criteria: [], checklist: [] }
  const place = findPlace(text, home)
  const items = findCriterionItems(text, place)
  const holes = [
    ...items.filter(({ start }) => start >= area.start && start < area.end),
    ...marksOf(text, place?.block).filter(({ start }) => start < area.end),
  ].toSorted((a, b) => a.start - b.start)
  return {
    criteria: items.map((item) => criterionOf(text, item)),
    checklist: readAround(text, area, holes),
  }
}

/** The marker comments around the criteria, which are not shown. */
function marksOf(text: string, block: Span | undefined): Span[] {
  if (block === undefined) return []
  const begin = text.lastIndexOf(CRITERIA_BEGIN, block.start)
  const end = text.indexOf(CRITERIA_END, block.end)
  return [
    { start: begin, end: begin + CRITERIA_BEGIN.length },
    { start: end, end: end + CRITERIA_END.length },
  ]
}

function readAround(
  text: string,
  area: Span,
  holes: readonly (CriterionItem | Span)[],
): (Criterion | string)[] {
  const pieces: (Criterion | string)[] = []
  let from = area.start
  const addText = (to: number) => {
    const words = withoutBlankLines(text.slice(from, to))
    if (words !== '') pieces.push(words)
  }
  for (const hole of holes) {
    addText(hole.start)
    if ('mark' in hole) pieces.push(criterionOf(text, hole))
    from = hole.end
  }
  addText(area.end)
  return pieces
}

/** Keeps the indentation of the first line. */
function withoutBlankLines(text: string): string {
  const words = text.trimEnd()
  if (words === '') return ''
  return words.replace(/^(?:[ \t]*\r?\n)+/, '').replaceAll('\r\n', '\n')
}
