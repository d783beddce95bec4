/**
 * Text with holes: the plan fills in the values of the command line, each iteration the rest. Values
 * stay separate from the text, so that they are never parsed as commands.
 */
export type Template = readonly (string | Hole | Filled)[]

interface Hole {
  readonly variable: string
}
interface Filled {
  readonly value: string
}

const HOLE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** `${NAME}` is a hole, `$${NAME}` is the text `${NAME}`, any other `${…}` is text. */
export function parseTemplate(text: string): Template {
  const parts: (string | { variable: string })[] = []
  let end = 0
  for (const match of text.matchAll(HOLE)) {
    const [all, escape, variable] = match
    if (match.index > end) parts.push(text.slice(end, match.index))
    parts.push(escape === '$' ? all.slice(1) : { variable: variable! })
    end = match.index + all.length
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

/** Only these names are holes; everything else, escapes included, is text. */
export function parseHoles(text: string, names: readonly string[]): Template {
  return text
    .split(new RegExp(`(\\$\\{(?:${names.join('|')})\\})`))
    .map((part, index) => (index % 2 === 0 ? part : { variable: part.slice(2, -1) }))
    .filter((part) => part !== '')
}

export function variablesOf(template: Template): string[] {
  return template.flatMap((part) => (isHole(part) ? [part.variable] : []))
}

/** Fills the holes whose value is known; values are not searched for further holes. */
export function fillTemplate(template: Template, values: ReadonlyMap<string, string>): Template {
  return template.map((part) => {
    const value = isHole(part) ? values.get(part.variable) : undefined
    return value === undefined ? part : { value }
  })
}

/** The text, with unfilled holes as they were written. */
export function renderTemplate(template: Template): string {
  return template.map(renderPart).join('')
}

function renderPart(part: Template[number]): string {
  if (typeof part === 'string') return part
  return isHole(part) ? `\${${part.variable}}` : part.value
}

function isHole(part: Template[number]): part is Hole {
  return typeof part !== 'string' && 'variable' in part
}
