import { MASKED } from './encodings.ts'
import { beginningOf, FORMS, sourceOf, type Form } from './forms.ts'
import { KnownValues, OPEN, type Environment } from './known-values.ts'
import { Needles, startAt } from './needles.ts'
import { charactersBefore, latin1, type Part } from './part.ts'

export interface Found {
  readonly start: number
  readonly end: number
  readonly mask: string
  /** Matches further characters of the secret. */
  readonly tail: RegExp | undefined
}

/** A form with its regular expressions, compiled on first use. */
class SearchedForm {
  readonly form: Form
  #tail: RegExp | undefined
  #whole: RegExp | undefined
  #beginning: RegExp | undefined

  constructor(form: Form) {
    this.form = form
  }

  get tail(): RegExp {
    return (this.#tail ??= new RegExp(`${this.form.tail ?? '[]'}*`, 'y'))
  }

  match(text: string, at: number): RegExpExecArray | null {
    this.#whole ??= new RegExp(sourceOf(this.form), 'y')
    this.#whole.lastIndex = at
    return this.#whole.exec(text)
  }

  /** Whether the form may begin here and more text is needed to decide. */
  mayBegin(text: string, at: number): boolean {
    this.#beginning ??= new RegExp(beginningOf(this.form), 'y')
    this.#beginning.lastIndex = at
    return this.#beginning.test(text)
  }
}

const SEARCHED = FORMS.map((form) => new SearchedForm(form))
const BY_FIRST_BYTE: (SearchedForm[] | undefined)[] = Array.from({ length: 256 })
for (const each of SEARCHED) {
  for (const first of new Set(each.form.literals.map((literal) => literal.charCodeAt(0)))) {
    ;(BY_FIRST_BYTE[first] ??= []).push(each)
  }
}

/** The most bytes that any form needs to be recognised. */
const REACH = 400

/** The beginning of a form's literal, cut off by the end of a part. */
interface Cut {
  readonly beginning: string
  readonly before: RegExp
}

/** Finds the secrets of a run: values of variables, and texts that have the form of a key. */
export class Finder {
  readonly #needles: Needles
  readonly #values: KnownValues
  #cuts: ReadonlyMap<string, readonly Cut[]> | undefined

  constructor(env: Environment) {
    this.#values = new KnownValues(env)
    const literals = FORMS.flatMap((form) => form.literals)
    const needles = literals.map((text) => ({ text, back: 0 }))
    this.#needles = new Needles([...needles, ...this.#values.needles])
  }

  /** False if there certainly is no secret. */
  mayFind(bytes: Uint8Array): boolean {
    return this.#needles.next(bytes, startAt(0)) !== undefined
  }

  /** The first secret at or after `from`; a number is a position where more bytes are needed to decide. */
  next(part: Part, from: number): Found | number | undefined {
    const { bytes } = part
    let result: Found | number | undefined
    let limit = bytes.length
    // The windows before adjacent needles overlap; each position is tested once.
    let tested = { from, to: from }
    let hit = this.#needles.next(bytes, startAt(from))
    // A later needle may belong to a secret that begins earlier.
    while (hit !== undefined && hit.end - this.#needles.farthest < limit) {
      const { end, reach } = hit
      const start = Math.max(from, end - reach)
      const isOverlap = start >= tested.from && start <= tested.to
      const first = isOverlap ? tested.to : start
      tested = { from: isOverlap ? tested.from : start, to: Math.max(first, end) }
      for (let at = first; at < end && at < limit; at += 1) {
        const found = this.#at(part, at)
        if (found === undefined) continue
        result = found === OPEN ? at : found
        limit = at
      }
      hit = this.#needles.next(bytes, hit)
    }
    return result
  }

  /** The first position from which the rest may be the beginning of a secret. */
  firstOpen(part: Part, from: number): number {
    return Math.min(this.#firstCut(part, from), this.#values.firstOpen(part, from))
  }

  #at(part: Part, at: number): Found | typeof OPEN | undefined {
    const value = this.#values.at(part, at)
    if (value === OPEN) return OPEN
    if (value !== undefined) return { start: at, ...value, tail: undefined }
    const forms = BY_FIRST_BYTE[part.bytes[at]!]
    if (forms === undefined) return undefined
    for (const form of forms) {
      const found = this.#formAt(part, at, form)
      if (found !== undefined) return found
    }
    return undefined
  }

  #formAt(part: Part, at: number, form: SearchedForm): Found | typeof OPEN | undefined {
    const { bytes, isEnd } = part
    if (!form.form.literals.some((literal) => startsWith(bytes, literal, at))) return undefined
    const before = charactersBefore(part, at)
    const end = Math.min(bytes.length, at + REACH)
    const text = before + latin1(bytes, at, end)
    if (!isEnd && end === bytes.length && form.mayBegin(text, before.length)) return OPEN
    const match = form.match(text, before.length)
    if (match === null) return undefined
    const shown = match[1]!
    if (shown !== '') {
      // The value of a known variable gets the mask with its name.
      const value = this.#values.at(part, at + shown.length)
      if (value !== undefined) return value === OPEN ? OPEN : undefined
    }
    return { start: at, end: at + match[0].length, mask: shown + MASKED, tail: form.tail }
  }

  #firstCut(part: Part, from: number): number {
    const cuts = (this.#cuts ??= makeCuts())
    const { length } = part.bytes
    const last = charactersBefore(part, length).slice(-2)
    if (!cuts.has(last) && !cuts.has(last.slice(-1))) return length
    let first = length
    for (const key of [last, last.slice(-1)]) {
      for (const { beginning, before } of cuts.get(key) ?? []) {
        const at = length - beginning.length
        const isCut = at >= from && at < first && startsWith(part.bytes, beginning, at)
        if (isCut && before.test(charactersBefore(part, at))) first = at
      }
    }
    return first
  }
}

/** Keyed by the last two characters, or by the only one. */
function makeCuts(): Map<string, Cut[]> {
  const cuts = new Map<string, Cut[]>()
  for (const { literals, before: assertion = '' } of FORMS) {
    const before = new RegExp(`${assertion}$`)
    for (const literal of literals) {
      for (let length = 1; length < literal.length; length += 1) {
        const beginning = literal.slice(0, length)
        const key = beginning.slice(-2)
        if (cuts.get(key)?.push({ beginning, before }) === undefined) {
          cuts.set(key, [{ beginning, before }])
        }
      }
    }
  }
  return cuts
}

function startsWith(bytes: Uint8Array, literal: string, at: number): boolean {
  for (let index = 0; index < literal.length; index += 1) {
    if (bytes[at + index] !== literal.charCodeAt(index)) return false
  }
  return true
}
