import { printableLines } from '../../base/terminal/printable.ts'

/** Markup that is safe to insert. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Value = Html | string | number | readonly Value[]

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Markup in which all values that are not markup themselves are escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: parts }, ...values.map(escape)))
}

function escape(value: Value): string {
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(escape).join('')
  const text = printableLines(String(value)).toWellFormed()
  return text.replaceAll(/[&<>"']/g, (each) => ENTITIES[each]!)
}
