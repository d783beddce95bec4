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
