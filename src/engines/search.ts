const NEWLINE = 10

interface Needle {
  readonly bytes: Buffer
  /** Where there are any, one of these bytes has to follow: one search then does for several words. */
  readonly next?: readonly number[]
}

/** Where the first of several needles comes next; each place is searched for only once. */
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

  /** Infinity where there is none any more. */
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

/** Lines with a fence are short; for the next few bytes a native search would cost more. */
export function endOfLine(lines: Buffer, from: number): number {
  for (let at = from; at < from + 32; at += 1) if (lines[at] === NEWLINE) return at
  return lines.indexOf(NEWLINE, from + 32)
}
