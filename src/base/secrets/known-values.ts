import { Cells } from './cells.ts'
import { Reader } from './characters.ts'
import { dumpsOf } from './dumps.ts'
import { encodingFor, innerBase64, linesOf, OTHER_ENCODING } from './encodings.ts'
import { isSecretName, isSecretValue, passwordIn } from './names.ts'
import type { Needle } from './needles.ts'
import { isLineStart, type Part } from './part.ts'
import { LONGEST_BEGINNING, type Spelling } from './spelling.ts'
import { Text } from './text.ts'

export type Environment = Readonly<Record<string, string | undefined>>

interface KnownValue {
  readonly value: string
  /** Replaces the value itself; other spellings get a mask with the name of their encoding. */
  readonly mask: string
  readonly name: string
  readonly spellings: readonly Spelling[]
}

interface Candidate {
  readonly known: KnownValue
  readonly spelling: Spelling
  readonly skipped: number
}

export interface FoundValue {
  readonly end: number
  readonly mask: string
}

/** More bytes are needed to decide. */
export const OPEN = 'open'

/** Finds the values of secret variables in all their spellings. */
export class KnownValues {
  readonly needles: readonly Needle[]
  /** By the first two bytes of an occurrence, and by the first one for the last byte of a part. */
  readonly #byPair = new Map<number, Candidate[]>()
  readonly #byFirst = new Map<number, Candidate[]>()
  /** A quick test, because nearly all pairs begin nothing. */
  readonly #isBeginning = new Uint8Array(0x10000)
  readonly #reader = new Reader()

  constructor(env: Environment) {
    const known = knownValues(env)
    this.needles = known.flatMap(({ spellings }) => spellings.flatMap(({ needles }) => needles))
    for (const each of known) {
      for (const spelling of each.spellings) this.#add(each, spelling)
    }
  }

  #add(known: KnownValue, spelling: Spelling): void {
    for (let skipped = 0; skipped <= spelling.skippable; skipped += 1) {
      const candidate = { known, spelling, skipped }
      const beginnings = spelling.beginnings(skipped)
      for (const beginning of beginnings) {
        const pair = beginning.charCodeAt(0) | (beginning.charCodeAt(1) << 8)
        this.#isBeginning[pair] = 1
        addTo(this.#byPair, pair, candidate)
      }
      for (const first of new Set(beginnings.map((each) => each.charCodeAt(0)))) {
        addTo(this.#byFirst, first, candidate)
      }
    }
  }

  /** The longest value that begins at a position. */
  at(part: Part, place: number): FoundValue | typeof OPEN | undefined {
    const { bytes } = part
    const isLast = place + 1 >= bytes.length
    const pair = bytes[place]! | (isLast ? 0 : bytes[place + 1]! << 8)
    if (!isLast && this.#isBeginning[pair] === 0) return undefined
    const candidates = (isLast ? this.#byFirst : this.#byPair).get(pair)
    return candidates === undefined ? undefined : this.#longest(part, place, candidates)
  }

  /** The first position from which the rest may be the beginning of a value. */
  firstOpen(part: Part, from: number): number {
    const { length } = part.bytes
    for (let at = Math.max(from, length - LONGEST_BEGINNING); at < length; at += 1) {
      if (this.at(part, at) === OPEN) return at
    }
    return length
  }

  #longest(part: Part, place: number, candidates: readonly Candidate[]) {
    const reader = this.#reader
    reader.bytes = part.bytes
    let longest: Candidate | undefined
    let end = -1
    for (const candidate of candidates) {
      const { spelling, skipped } = candidate
      if (skipped > 0 && spelling.skipsAtLineStart && !isLineStart(part, place)) continue
      reader.ranOut = false
      const found = spelling.match(reader, place, skipped)
      if (reader.ranOut && !part.isEnd) return OPEN
      if (found > end) {
        end = found
        longest = candidate
      }
    }
    if (longest === undefined) return undefined
    return { end, mask: maskFor(longest.known, part.bytes.subarray(place, end)) }
  }
}

function addTo(map: Map<number, Candidate[]>, key: number, candidate: Candidate): void {
  if (map.get(key)?.push(candidate) === undefined) map.set(key, [candidate])
}

function maskFor({ value, mask, name }: KnownValue, bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  if (text === value) return mask
  const isWhole = mask === `[masked ${name}]`
  return `[masked ${name}:${isWhole ? encodingFor(value, text) : OTHER_ENCODING}]`
}

function knownValues(env: Environment): KnownValue[] {
  const found = new Map<string, KnownValue>()
  const add = (name: string, raw: string, word?: string) => {
    const value = raw.toWellFormed()
    if (!isSecretValue(value) || found.has(value)) return
    const mask = word === undefined ? `[masked ${name}]` : `[masked ${name}:${word}]`
    const spellings = word?.startsWith('line') ? spellingsOfLine(value) : spellingsOf(value)
    found.set(value, { value, mask, name, spellings })
  }
  for (const [name, raw = ''] of Object.entries(env)) {
    const value = raw.trim()
    if (isSecretName(name)) {
      add(name, value)
      for (const [line, text] of linesOf(value)) add(name, text, `line${line}`)
    }
    const password = passwordIn(value)
    add(name, password, 'password')
    add(name, decoded(password), OTHER_ENCODING)
  }
  return [...found.values()]
}

/** The ways in which programs print a value. */
function spellingsOf(value: string): Spelling[] {
  return [
    new Text(value, 'all'),
    ...[0, 1, 2].map(
      (before) => new Text(innerBase64(value, before), 'base64', lastOf(value, before)),
    ),
    ...dumpsOf(Buffer.from(value)).map((dump) => new Cells(dump, /[^ -~]/.test(value))),
  ]
}

/** One line of a key of many lines. */
function spellingsOfLine(line: string): Spelling[] {
  return [new Text(line, 'none')]
}

/** The base64 character after the inner part if nothing follows the value. */
function lastOf(value: string, before: number): string | undefined {
  const inner = innerBase64(value, 0)
  return before > 0 ? undefined : Buffer.from(value).toString('base64url')[inner.length]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
