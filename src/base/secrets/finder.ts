import { MASKED, encodingFor, innerBase64, linesOf, OTHER_ENCODING } from './encodings.ts'
import { beginningOf, FORMS, sourceOf } from './forms.ts'
import type { Environment } from '../environment.ts'
import type { Spelling } from './spelling.ts'
import { tryOr } from '../errors.ts'
import { dumpsOf } from './cells.ts'
import { isSecretName, isSecretValue, passwordIn } from './names.ts'
import { Text } from './text.ts'

export interface Found {
  readonly start: number
  readonly end: number
  readonly mask: string
  /** Matches further characters of the secret. */
  readonly tail: RegExp | undefined
}

/** More text is needed to decide. */
const OPEN = 'open'

interface KnownSpelling {
  readonly known: KnownValue
  readonly spelling: Spelling
  readonly skipped: number
}

/** A form with its regular expressions, compiled on first use. */
const SEARCHED = FORMS.map((form) => ({
  literals: form.literals,
  /** Matches further characters of the secret. */
  tail: lazyPattern(() => `${form.tail ?? '[]'}*`),
  whole: lazyPattern(() => sourceOf(form)),
  /** Matches if more text is needed to decide. */
  beginning: lazyPattern(() => beginningOf(form)),
}))

type SearchedForm = (typeof SEARCHED)[number]

/** A pattern that is matched at a position. */
function lazyPattern(source: () => string): (at: number) => RegExp {
  let pattern: RegExp | undefined
  return (at) => {
    pattern ??= new RegExp(source(), 'y')
    pattern.lastIndex = at
    return pattern
  }
}

/** The most characters that any form needs to be recognised. */
const REACH = 400

/** How many characters tell whether a secret may begin, and how many bits of each. */
const START = 4
const BITS = 5
const HASHES = 2 ** (START * BITS)

function hashWith(hash: number, code: number): number {
  return ((hash << BITS) | (code & (2 ** BITS - 1))) & (HASHES - 1)
}

/** Things to look for, by their first two characters. */
class StartIndex<T> {
  readonly #mayBegin: Uint8Array
  readonly #byPair = new Map<number, T[]>()
  readonly #all: T[] = []

  /** `mayBegin` has a 1 for each hash of characters with which something begins. */
  constructor(mayBegin: Uint8Array) {
    this.#mayBegin = mayBegin
  }

  /** Any characters may follow a short start. */
  add(each: T, starts: readonly string[]): void {
    this.#all.push(each)
    for (const pair of new Set(starts.map((start) => pairAt(start, 0)))) {
      if (this.#byPair.get(pair)?.push(each) === undefined) this.#byPair.set(pair, [each])
    }
    for (const start of starts) {
      let [hash, count] = [0, HASHES]
      for (let at = 0; at < Math.min(start.length, START); at += 1) {
        hash = hashWith(hash, start.charCodeAt(at))
        count >>= BITS
      }
      this.#mayBegin.fill(1, hash * count, (hash + 1) * count)
    }
  }

  at(text: string, at: number): readonly T[] {
    return at + 1 < text.length ? (this.#byPair.get(pairAt(text, at)) ?? []) : this.#all
  }
}

function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) << 8) | text.charCodeAt(at + 1)
}

/** Finds the secrets of a run: values of variables, and texts that have the form of a key. */
export class Finder {
  readonly #mayBegin = new Uint8Array(HASHES)
  readonly #values = new StartIndex<KnownSpelling>(this.#mayBegin)
  readonly #forms = new StartIndex<SearchedForm>(this.#mayBegin)

  constructor(env: Environment) {
    for (const form of SEARCHED) this.#forms.add(form, form.literals)
    for (const known of knownValues(env)) {
      for (const spelling of known.spellings) {
        for (let skipped = 0; skipped <= spelling.skippable; skipped += 1)
          this.#values.add({ known, spelling, skipped }, spelling.starts(skipped))
      }
    }
  }

  /** The first secret at or after `from`; otherwise the position from which more text is needed to decide. */
  next(text: string, from: number, isEnd: boolean): Found | number {
    const skip = (at: number) => this.#skip(text, at, isEnd)
    for (let at = skip(from); at < text.length; at = skip(at + 1)) {
      const found = this.#valueAt(text, at, isEnd) ?? this.#formAt(text, at, isEnd)
      if (found !== undefined) return found === OPEN ? at : found
    }
    return text.length
  }

  /** The next position where a secret may begin. */
  #skip(text: string, from: number, isEnd: boolean): number {
    const last = text.length - START + 1
    let hash = 0
    for (let at = from; at < from + START - 1; at += 1) hash = hashWith(hash, text.charCodeAt(at))
    for (let at = from; at < last; at += 1) {
      hash = hashWith(hash, text.charCodeAt(at + START - 1))
      if (this.#mayBegin[hash] === 1) return at
    }
    return isEnd ? text.length : Math.max(from, last)
  }

  /** The longest value that begins at a position. */
  #valueAt(text: string, at: number, isEnd: boolean): Found | typeof OPEN | undefined {
    const source = { text, ranOut: false }
    let longest: KnownValue | undefined
    let end = -1
    for (const { known, spelling, skipped } of this.#values.at(text, at)) {
      if (skipped > 0 && spelling.skipsAtLineStart && !isLineStart(text, at)) continue
      const found = spelling.match(source, at, skipped)
      if (source.ranOut && !isEnd) return OPEN
      if (found <= end) continue
      end = found
      longest = known
    }
    if (longest === undefined) return undefined
    const mask = longest.maskFor(Buffer.from(text.slice(at, end), 'latin1').toString())
    return { start: at, end, mask: Buffer.from(mask).toString('latin1'), tail: undefined }
  }

  #formAt(text: string, at: number, isEnd: boolean): Found | typeof OPEN | undefined {
    for (const form of this.#forms.at(text, at)) {
      if (!isEnd && text.length - at < REACH && form.beginning(at).test(text)) return OPEN
      const match = form.whole(at).exec(text)
      if (match === null) continue
      const shown = match[1]!
      if (shown !== '') {
        // The value of a known variable gets the mask with its name.
        const value = this.#valueAt(text, at + shown.length, isEnd)
        if (value === OPEN) return OPEN
        if (value !== undefined) continue
      }
      return { start: at, end: at + match[0].length, mask: shown + MASKED, tail: form.tail(0) }
    }
    return undefined
  }
}

/** Line ends may be escaped, as in JSON, and lines may be indented. */
const LINE_START = /(?<=\n {0,2}|\\n|%0[Aa])/y

function isLineStart(text: string, at: number): boolean {
  LINE_START.lastIndex = at
  return LINE_START.test(text)
}

interface KnownValue {
  readonly spellings: readonly Spelling[]
  /** The mask for one occurrence; spellings other than the value itself get the name of their encoding. */
  maskFor(text: string): string
}

/** The values of secret variables. */
function knownValues(env: Environment): KnownValue[] {
  const found = new Map<string, KnownValue>()
  const add = (name: string, raw: string, word?: string) => {
    const value = raw.toWellFormed()
    if (!isSecretValue(value) || found.has(value)) return
    const isLine = word?.startsWith('line') === true
    const maskFor = (text: string) => {
      const encoding = word === undefined ? encodingFor(value, text) : OTHER_ENCODING
      const shown = text === value ? word : encoding
      return shown === undefined ? `[masked ${name}]` : `[masked ${name}:${shown}]`
    }
    found.set(value, { spellings: isLine ? [new Text(value)] : spellingsOf(value), maskFor })
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
  const inner = innerBase64(value, 0)
  const last = Buffer.from(value).toString('base64url')[inner.length]
  return [
    new Text(value),
    new Text(inner, true, last),
    ...[1, 2].map((before) => new Text(innerBase64(value, before), true)),
    ...dumpsOf(value),
  ]
}

function decoded(text: string): string {
  return tryOr(text, () => decodeURIComponent(text))
}
