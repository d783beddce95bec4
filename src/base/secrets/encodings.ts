import { own } from '../objects.ts'
import { passwordIn } from './names.ts'

type Encode = (value: string) => string

const base64 = (value: string) => Buffer.from(value).toString('base64').replace(/=+$/, '')
const urlSafe = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')
const json = (value: string) => JSON.stringify(value).slice(1, -1)
const hex = (value: string) => Buffer.from(value).toString('hex')

/** The part of a base64 text that depends only on the value, if `before` bytes precede it. */
export function innerBase64(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
  const first = Math.ceil((before * 8) / 6)
  return bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6))
}

/**
 * The encodings that a mask can name, such as `[masked NAME:json]`, so that it can be filled again.
 * Records contain these names, so they must not change their meaning.
 */
const ENCODINGS: Readonly<Record<string, Encode>> = {
  json,
  url: encodeURIComponent,
  base64,
  json2: (value) => json(json(value)),
  base64a: (value) => innerBase64(value, 0),
  base64b: (value) => innerBase64(value, 1),
  base64c: (value) => innerBase64(value, 2),
  base64url: (value) => urlSafe(base64(value)),
  base64urla: (value) => urlSafe(innerBase64(value, 0)),
  base64urlb: (value) => urlSafe(innerBase64(value, 1)),
  base64urlc: (value) => urlSafe(innerBase64(value, 2)),
  hex,
  hexcaps: (value) => hex(value).toUpperCase(),
}

/** Replaces a secret that was recognised only by its form. */
export const MASKED = '[masked]'

/** In a mask: the text cannot be restored from the value. */
export const OTHER_ENCODING = 'encoded'

/** Pattern of masks that cannot be filled again. */
export const LOST_MASK = `\\[masked(?: [^\\]:\\s]+:${OTHER_ENCODING})?\\]`

/** The name of the encoding that turns `value` into exactly `text`. */
export function encodingFor(value: string, text: string): string {
  const found = Object.entries(ENCODINGS).find(([, encode]) => encode(value) === text)
  return found?.[0] ?? OTHER_ENCODING
}

/** The encoding that a mask names; undefined if it is unknown. */
export function encodingOf(word: string): Encode | undefined {
  if (word === 'password') return passwordIn
  const [, line] = /^line(\d+)$/.exec(word) ?? []
  if (line !== undefined) return (value) => linesOf(value).get(Number(line)) ?? ''
  return own(ENCODINGS, word)
}

/** The lines of a multi-line key, by number: programs also print them one by one. */
export function linesOf(value: string): Map<number, string> {
  const lines = value.split('\n').map((line, index) => [index + 1, line.trim()] as const)
  if (lines.length === 1) return new Map()
  return new Map(lines.filter(([, line]) => /^(?!-----)\S{16,}$/.test(line)))
}
