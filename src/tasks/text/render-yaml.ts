import { isObject } from '../../base/json.ts'

type Value = string | readonly string[]

/** A lone surrogate cannot be written to a file. */
export function wellFormed(value: Value): Value {
  return typeof value === 'string' ? value.toWellFormed() : value.map((item) => item.toWellFormed())
}

export function renderValue(value: Value): string {
  return typeof value === 'string' ? renderScalar(value) : `[${value.map(renderItem).join(', ')}]`
}

/** Unquoted if YAML reads back the same string, else in double quotes. */
export function renderScalar(text: string): string {
  return /^[^\s"'&*!|>%@`[\]{},#?:-][^\n\r#]*$/.test(text) && isPlain(text)
    ? text
    : JSON.stringify(text)
}

/** As `renderScalar`, for an item of a flow list. */
export function renderItem(text: string): string {
  return /^[\w./ -]+$/.test(text) && isPlain(text) ? text : JSON.stringify(text)
}

function isPlain(text: string): boolean {
  if (text !== text.trim() || text.includes(': ') || text.endsWith(':')) return false
  try {
    const value: unknown = Bun.YAML.parse(`x: ${text}\n`)
    return isObject(value) && value['x'] === text
  } catch {
    return false
  }
}
