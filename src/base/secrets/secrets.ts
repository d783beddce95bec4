import { beginningOf, FORMS, sourceOf } from './forms.ts'

const SECRET_NAME =
  /(?:token|secret|password|passwd|passphrase|api_?key|accesskey|privatekey|(?:^|[_-])(?:key|pass|credentials?))$/i

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Shorter ones and plain words would be found in texts that tell no secret. */
export function isSecretValue(value: string): boolean {
  return value.length >= 8 && !/^[a-z]{8,11}$/.test(value)
}

/** What a secret was replaced by; the names of variables stay readable. */
export const MASKED = '[masked]'

type Environment = Readonly<Record<string, string | undefined>>

type Encode = (value: string) => string

const base64 = (value: string) => Buffer.from(value).toString('base64').replace(/=+$/, '')
const urlSafe = (text: string) => text.replaceAll('+', '-').replaceAll('/', '_')
const json = (value: string) => JSON.stringify(value).slice(1, -1)

/** What base64 makes of a value behind so many other bytes, whatever these and those behind it are. */
function inner(value: string, before: number): string {
  const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)])
  const first = Math.ceil((before * 8) / 6)
  return bytes.toString('base64').slice(first, Math.floor((bytes.length * 8) / 6))
}

/** The forms in which the value of a variable is met, by the word that tells them apart. */
const ENCODINGS: Readonly<Record<string, Encode>> = { json, url: encodeURIComponent, base64 }

/** Further ones of values that are not very long: keys of many lines are met line by line. */
const RARE_ENCODINGS: Readonly<Record<string, Encode>> = {
  json2: (value) => json(json(value)),
  base64a: (value) => inner(value, 0),
  base64b: (value) => inner(value, 1),
  base64c: (value) => inner(value, 2),
  base64url: (value) => urlSafe(base64(value)),
  base64urla: (value) => urlSafe(inner(value, 0)),
  base64urlb: (value) => urlSafe(inner(value, 1)),
  base64urlc: (value) => urlSafe(inner(value, 2)),
  hex: (value) => Buffer.from(value).toString('hex'),
  hexcaps: (value) => Buffer.from(value).toString('hex').toUpperCase(),
}
const RARE_UP_TO = 256

/** How the form that is called so is made; undefined: there is none. */
export function encodingOf(word: string): Encode | undefined {
  const [, line] = /^line(\d+)$/.exec(word) ?? []
  if (line !== undefined) return (value) => linesOf(value).get(Number(line)) ?? ''
  return ENCODINGS[word] ?? RARE_ENCODINGS[word]
}

/** The lines of a value, by number, that tell something: programs also print them one by one. */
function linesOf(value: string): Map<number, string> {
  const lines = value.split('\n').map((line, index) => [index + 1, line.trim()] as const)
  if (lines.length === 1) return new Map()
  return new Map(lines.filter(([, line]) => /^(?!-----)\S{16,}$/.test(line)))
}

/** Each secret of the environment in all its forms, with what is shown instead. */
export function masksOf(env: Environment): Map<string, string> {
  const masks = new Map<string, string>()
  for (const [name, raw] of Object.entries(env)) {
    const value = raw?.trim() ?? ''
    if (!isSecretName(name) || !isSecretValue(value)) continue
    if (!masks.has(value)) masks.set(value, `[masked ${name}]`)
    if (!value.isWellFormed()) continue
    for (const [word, encoded] of formsOf(value)) {
      if (!masks.has(encoded)) masks.set(encoded, `[masked ${name}:${word}]`)
    }
  }
  return masks
}

function formsOf(value: string): (readonly [word: string, encoded: string])[] {
  const encodings = value.length > RARE_UP_TO ? ENCODINGS : { ...ENCODINGS, ...RARE_ENCODINGS }
  const encoded = Object.entries(encodings).map(([word, encode]) => [word, encode(value)] as const)
  return [...encoded, ...[...linesOf(value)].map(([at, line]) => [`line${at}`, line] as const)]
}

export interface Found {
  readonly start: number
  readonly end: number
  /** Where the secret itself begins. */
  readonly secret: number
  readonly mask: string
  /** What belongs to the secret if more of it follows. */
  readonly tail: RegExp | undefined
}

/** Something that is recognised by its first bytes, as far as they are known. */
interface Cut {
  readonly beginning: string
  readonly isValue: boolean
  readonly before?: RegExp | undefined
}

/** Made only where they are needed: most runs meet nothing that looks like a secret. */
let expressions: Expressions | undefined
interface Expressions {
  readonly whole: RegExp
  readonly beginning: RegExp
  readonly tails: readonly RegExp[]
}

function makeExpressions(): Expressions {
  return {
    whole: new RegExp(FORMS.map(sourceOf).join('|'), 'y'),
    beginning: new RegExp(FORMS.map(beginningOf).join('|'), 'y'),
    tails: FORMS.map((form) => new RegExp(`${form.tail}*`, 'y')),
  }
}

/** The secrets of a run, ready to be searched for in bytes that are read as Latin-1. */
export class Secrets {
  readonly literals: readonly string[]
  /** Longest of the values and of what decides about a form. */
  readonly reach: number
  readonly #masks: ReadonlyMap<string, string>
  /** By their first character; longer ones come first. */
  readonly #values: ReadonlyMap<string, readonly string[]>
  #cuts: ReadonlyMap<string, readonly Cut[]> | undefined

  constructor(masks: ReadonlyMap<string, string>) {
    const values = [...masks.keys()].toSorted((a, b) => b.length - a.length)
    this.#masks = masks
    this.#values = Map.groupBy(values, (value) => value.charAt(0))
    this.literals = [...values, ...FORMS.flatMap((form) => form.literals)]
    this.reach = Math.max(300, values[0]?.length ?? 0)
  }

  /** The first secret that begins at one of these places. */
  find(text: string, from: number, to: number): Found | undefined {
    for (let at = from; at <= to; at += 1) {
      const found = this.#valueAt(text, at) ?? this.#formAt(text, at)
      if (found !== undefined) return found
    }
    return undefined
  }

  #valueAt(text: string, at: number): Found | undefined {
    const values = this.#values.get(text.charAt(at))
    const value = values?.find((each) => text.startsWith(each, at))
    if (value === undefined) return undefined
    const mask = this.#masks.get(value)!
    return { start: at, end: at + value.length, secret: at, mask, tail: undefined }
  }

  /** A form that shows something leaves a value behind it to the one who knows its name. */
  #formAt(text: string, at: number): Found | undefined {
    const { whole, tails } = (expressions ??= makeExpressions())
    whole.lastIndex = at
    const match = whole.exec(text)
    if (match === null) return undefined
    const group = match.findIndex((each, index) => index > 0 && each !== undefined)
    const shown = match[group]!
    const secret = at + shown.length
    if (secret > at && this.#valueAt(text, secret) !== undefined) return undefined
    const end = at + match[0].length
    return { start: at, end, secret, mask: shown + MASKED, tail: tails[group - 1] }
  }

  /** Which of these places begins a form about which the end of the text does not decide. */
  findBeginning(text: string, from: number, to: number): number {
    const { beginning } = (expressions ??= makeExpressions())
    for (let at = from; at <= to; at += 1) {
      beginning.lastIndex = at
      if (beginning.test(text)) return at
    }
    return Infinity
  }

  /** Whether a literal may be cut behind these two characters. */
  mayBeCut(last: string): boolean {
    this.#cuts ??= this.#makeCuts()
    return this.#cuts.has(last) || this.#cuts.has(last.slice(-1))
  }

  /** Where literals begin that are cut by the end of the text; whether they are values. */
  findCuts(text: string): readonly { readonly at: number; readonly isValue: boolean }[] {
    const found = []
    for (const length of [2, 1]) {
      for (const { beginning, isValue, before } of this.#cuts?.get(text.slice(-length)) ?? []) {
        if (!text.endsWith(beginning)) continue
        const at = text.length - beginning.length
        if (before?.test(text.slice(Math.max(0, at - 2), at)) !== false) found.push({ at, isValue })
      }
    }
    return found
  }

  /** Cuts are found by their last two characters, those of one character by that. */
  #makeCuts(): Map<string, Cut[]> {
    const cuts = new Map<string, Cut[]>()
    const add = (literal: string, isValue: boolean, before?: RegExp) => {
      for (let length = 1; length < literal.length; length += 1) {
        const beginning = literal.slice(0, length)
        const key = beginning.slice(-2)
        const cut = { beginning, isValue, before }
        if (cuts.get(key)?.push(cut) === undefined) cuts.set(key, [cut])
      }
    }
    for (const value of this.#masks.keys()) add(value, true)
    for (const { literals, before = '' } of FORMS) {
      for (const literal of literals) add(literal, false, new RegExp(`${before}$`))
    }
    return cuts
  }
}
