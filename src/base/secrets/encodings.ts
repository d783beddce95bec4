import { passwordIn } from './names.ts'

type Encode = (value: string) => string

const base64 = (value: string) => Buffer.from(value).toString('base64').replace(/=+$/, '')
const urlSafe = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')
const json = (value: string) => JSON.stringify(value).slice(1, -1)
const hex = (value: string) => Buffer.from(value).toString('hex')

/** What base64 makes of a value after so many other bytes, whatever is before and after it. */
export function innerBase64(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
  const first = Math.ceil((before * 8) / 6)
  return bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6))
}

/**
 * The encodings that a mask can name, by the word in the mask: `[masked NAME:json]` can be filled
 * again. Records keep these words, so none may change its meaning.
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

/** What a secret is replaced by that only its form gives away. */
export const MASKED = '[masked]'

/** In a mask, for everything else: the text cannot be made again from the value. */
export const OTHER_ENCODING = 'encoded'

/** Masks that nothing can fill again. */
export const LOST_MASK = `\\[masked(?: [^\\]:\\s]+:${OTHER_ENCODING})?\\]`

/** The word for an encoding that makes exactly this text of a value. */
export function encodingFor(value: string, text: string): string {
  const found = Object.entries(ENCODINGS).find(([, encode]) => encode(value) === text)
  return found?.[0] ?? OTHER_ENCODING
}

/** What a word in a mask makes of the value of its variable; undefined: nothing can. */
export function encodingOf(word: string): Encode | undefined {
  if (word === 'password') return passwordIn
  const [, line] = /^line(\d+)$/.exec(word) ?? []
  if (line !== undefined) return (value) => linesOf(value).get(Number(line)) ?? ''
  return Object.hasOwn(ENCODINGS, word) ? ENCODINGS[word] : undefined
}

/** The lines of a key, by number: programs also print them one by one. */
export function linesOf(value: string): Map<number, string> {
  const lines = value.split('\n').map((line, index) => [index + 1, line.trim()] as const)
  if (lines.length === 1) return new Map()
  return new Map(lines.filter(([, line]) => /^(?!-----)\S{16,}$/.test(line)))
}
