import {
  findSection,
  isKnown,
  readOutline,
  readSection,
  SECTIONS,
  type Outline,
  type Section,
} from './body.ts'
import { readChecklist, type Checklist } from './checklist.ts'

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
  const { sections } = readOutline(text)
  const isNotes = ({ name }: Section) => name === 'Implementation Notes' || name === 'Notes'
  const texts = sections
    .filter(isNotes)
    .map(({ content }) => text.slice(content.start, content.end).trimEnd())
  return texts.filter((each) => each !== '').join('\n\n')
}
