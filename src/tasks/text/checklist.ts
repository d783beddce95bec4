import { CRITERIA_BEGIN, CRITERIA_END, findSection, type Outline } from './body.ts'
import { criterionOf, findItems, findPlace, type Criterion, type Item } from './criteria.ts'
import type { Span } from './yaml-signs.ts'

export interface Checklist {
  readonly criteria: readonly Criterion[]
  /** The criteria and any text between them, in the order of the file. */
  readonly checklist: readonly (Criterion | string)[]
}

export function readChecklist(text: string, { sections, loose }: Outline): Checklist {
  const home = findSection(text, 'Acceptance Criteria', sections)
  const area = home === undefined ? loose : { start: home.content.start, end: home.end }
  if (area === undefined) return { criteria: [], checklist: [] }
  const place = findPlace(text, home)
  const items = findItems(text, place)
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
  holes: readonly (Item | Span)[],
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
