const NEWLINE = 10

interface Needle {
  readonly bytes: Buffer
  /** If set, one of these bytes must follow, so that one search covers several words. */
  readonly next?: readonly number[]
}

/** Finds the next of several needles; no part is searched twice for the same one. */
export class Search {
  readonly #bytes: Buffer
  readonly #needles: readonly Needle[]
  readonly #places: number[]
  #first = -1

  constructor(bytes: Buffer, needles: readonly Needle[]) {
    this.#bytes = bytes
    this.#needles = needles
    this.#places = needles.map(() => -1)
  }

  /** Infinity if there is none. */
  next(from: number): number {
    if (this.#first >= from) return this.#first
    let first = Infinity
    for (let index = 0; index < this.#places.length; index += 1) {
      if (this.#places[index]! < from) {
        this.#places[index] = this.#find(this.#needles[index]!, from)
      }
      first = Math.min(first, this.#places[index]!)
    }
    this.#first = first
    return first
  }

  #find({ bytes, next }: Needle, from: number): number {
    let place = this.#bytes.indexOf(bytes, from)
    while (place !== -1 && next?.includes(this.#bytes[place + bytes.length]!) === false) {
      place = this.#bytes.indexOf(bytes, place + bytes.length)
    }
    return place === -1 ? Infinity : place
  }
}

/** Checks a few bytes first: most lines with a fence are too short for a native search to pay off. */
export function endOfLine(lines: Buffer, from: number): number {
  for (let at = from; at < from + 32; at += 1) if (lines[at] === NEWLINE) return at
  return lines.indexOf(NEWLINE, from + 32)
}
