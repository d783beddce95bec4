type Value = string | readonly string[]

/** Half a character cannot be written to a file. */
export function wellFormed(value: Value): Value {
  return typeof value === 'string' ? value.toWellFormed() : value.map((item) => item.toWellFormed())
}

/** A value on one line. */
export function renderValue(value: Value): string {
  return typeof value === 'string' ? renderScalar(value) : `[${value.map(renderItem).join(', ')}]`
}

/** Plain where YAML reads the same back, in double quotes otherwise. */
export function renderScalar(text: string): string {
  return /^[^\s"'&*!|>%@`[\]{},#?:-][^\n\r#]*$/.test(text) && isPlain(text)
    ? text
    : JSON.stringify(text)
}

/** The same for an item between brackets. */
export function renderItem(text: string): string {
  return /^[\w./ -]+$/.test(text) && isPlain(text) ? text : JSON.stringify(text)
}

function isPlain(text: string): boolean {
  if (text !== text.trim() || text.includes(': ') || text.endsWith(':')) return false
  try {
    const value: unknown = Bun.YAML.parse(`x: ${text}\n`)
    return typeof value === 'object' && value !== null && 'x' in value && value.x === text
  } catch {
    return false
  }
}
