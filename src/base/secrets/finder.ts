import { MASKED } from './encodings.ts'
import { beginningOf, FORMS, sourceOf, type Form } from './forms.ts'
import { KnownValues, OPEN, type Environment } from './known-values.ts'
import { Needles } from './needles.ts'
import { charactersBefore, latin1, type Part } from './part.ts'

export interface Found {
  readonly start: number
  readonly end: number
  readonly mask: string
  /** What belongs to the secret if more of it follows. */
  readonly tail: RegExp | undefined
}

/** A form with its expressions, which are made where its literal is first met. */
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

  /** Whether it may begin here, and the end of the text does not decide it. */
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

/** No form needs more to be recognised. */
const REACH = 400

/** A literal of a form that is cut off by the end of a part. */
interface Cut {
  readonly beginning: string
  readonly before: RegExp
}

/** The secrets of a run: values of variables, and whatever has the form of a key. */
export class Finder {
  readonly needles: Needles
  readonly #values: KnownValues
  #cuts: ReadonlyMap<string, readonly Cut[]> | undefined

  constructor(env: Environment) {
    this.#values = new KnownValues(env)
    const literals = FORMS.flatMap((form) => form.literals)
    const needles = literals.map((text) => ({ text, back: 0 }))
    this.needles = new Needles([...needles, ...this.#values.needles])
  }

  /** The first secret at or after a place; only a place, where what follows decides. */
  next(part: Part, from: number): Found | number | undefined {
    const { bytes } = part
    let result: Found | number | undefined
    let limit = bytes.length
    // Windows before needles that are close to each other overlap.
    let tested = { from, to: from }
    for (let scan = from; ;) {
      const pair = this.needles.next(bytes, scan)
      // A needle further on may belong to something that begins earlier.
      if (pair === -1 || pair - this.needles.farthest >= limit) return result
      scan = pair + 1
      const start = Math.max(from, pair - this.needles.backFrom(bytes, pair))
      const isOverlap = start >= tested.from && start <= tested.to
      const first = isOverlap ? tested.to : start
      tested = { from: isOverlap ? tested.from : start, to: Math.max(first, pair + 1) }
      for (let at = first; at <= pair && at < limit; at += 1) {
        const found = this.#at(part, at)
        if (found === undefined) continue
        result = found === OPEN ? at : found
        limit = at
      }
    }
  }

  /** The first place from which on the end may be the beginning of a secret. */
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
      // What follows a name is left to the variable that holds it.
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

/** By their last two characters; those of one character by that. */
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
