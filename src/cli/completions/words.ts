interface BashWord {
  readonly text: string
  /** The quote that is still open at the end. */
  readonly open: string
}

/** Removes the quotes and escapes of a bash word; nothing is expanded. */
export function readWord(raw: string): BashWord {
  let text = ''
  let open = ''
  for (let at = 0; at < raw.length; at++) {
    const letter = raw[at]!
    if (letter === open) open = ''
    else if (open === '' && (letter === "'" || letter === '"')) open = letter
    else if (letter === '\\' && isEscape(open, raw[at + 1])) text += raw[++at] ?? ''
    else text += letter
  }
  return { text, open }
}

function isEscape(open: string, next: string | undefined): boolean {
  if (open === "'") return false
  return open === '' || (next !== undefined && '$`"\\'.includes(next))
}

/** Quotes a value for insertion after an open quote; undefined if that is impossible. */
export function quoteValue(value: string, open: string): string | undefined {
  if (open === "'") return value.includes("'") ? undefined : value
  // Between double quotes, an exclamation mark cannot be protected from history expansion.
  if (open === '"') return value.includes('!') ? undefined : escape(value, /[$`"\\]/g)
  return escape(value, /[^\w@%+=:,./\u{80}-\u{10ffff}-]/gu)
}

function escape(value: string, special: RegExp): string {
  return value.replaceAll(special, String.raw`\$&`)
}
