/** From frequent to rare, as texts and JSON go; what is not named is rarer. */
const CHARACTERS = ' etaoinsr"hld_cu,m:fpgwybvkxjqz0123456789'
const PAIRS =
  'th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ok ke ss _t s_ t_'
const COMMON = new Map(
  PAIRS.split(' ').map((pair, place) => [pair.charCodeAt(0) | (pair.charCodeAt(1) << 8), place]),
)
const RANKS = new Uint8Array(256).fill(CHARACTERS.length)
for (let at = 0; at < CHARACTERS.length; at += 1) RANKS[CHARACTERS.charCodeAt(at)] = at

/** A needle is recognised by a pair that is nearer than this to its beginning. */
const NEAR = 16

export interface Needle {
  /** At least three bytes, as Latin-1. */
  readonly text: string
  /** How far before it that which it belongs to may begin. */
  readonly back: number
}

interface Suspect {
  readonly needle: string
  /** How far before the pair that which the needle belongs to may begin. */
  readonly back: number
  /** Where the pair is in the needle. */
  readonly offset: number
}

interface Table {
  /** For each pair of bytes, a bit for each value of the lower half of the byte that may follow it. */
  readonly follows: Uint16Array
  /** By their pair. */
  readonly suspects: Map<number, Suspect[]>
}

/**
 * Finds many short sequences of bytes in one pass. A native search for each of them costs more than
 * all of them here: every second pair of bytes is looked up in a table, sixteen in one condition.
 * Of each needle the table has one pair at an even and one at an odd place, so that one of the two
 * is met wherever the needle begins.
 */
export class Needles {
  readonly #table: Table = { follows: new Uint16Array(0x10000), suspects: new Map() }
  /** The farthest that anything begins before the pair by which it is found. */
  readonly farthest: number

  constructor(needles: readonly Needle[]) {
    for (const needle of withoutDoubles(needles)) {
      for (const parity of [0, 1]) this.#add(needle, rarestPair(needle.text, parity))
    }
    this.farthest = NEAR + Math.max(0, ...needles.map(({ back }) => back))
  }

  /** How far before the pair that was found its secret may begin. */
  backFrom(bytes: Uint8Array, pair: number): number {
    const suspects = this.#table.suspects.get(bytes[pair]! | (bytes[pair + 1]! << 8)) ?? []
    const found = suspects.filter(({ needle, offset }) => isAt(needle, bytes, pair - offset))
    return Math.max(0, ...found.map(({ back }) => back))
  }

  /** Where, at or after `from`, the pair of a needle is, or -1. */
  next(bytes: Uint8Array, from: number): number {
    const { follows } = this.#table
    const isOdd = (bytes.byteOffset + from) & 1
    if (bytes.length - from < 64) return among(this.#table, bytes, from + isOdd, bytes.length - 1)
    const aligned = from + (-(bytes.byteOffset + from) & 3)
    const before = among(this.#table, bytes, from + isOdd, aligned)
    if (before !== -1) return before
    const length = (bytes.length - aligned) >> 2
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, length)
    let at = 0
    for (; at < length - 8; at += 8) {
      const a = words[at]!
      const b = words[at + 1]!
      const c = words[at + 2]!
      const d = words[at + 3]!
      const e = words[at + 4]!
      const f = words[at + 5]!
      const g = words[at + 6]!
      const h = words[at + 7]!
      const i = words[at + 8]!
      const ab =
        (follows[a & 0xffff]! >>> ((a >>> 16) & 15)) |
        (follows[a >>> 16]! >>> (b & 15)) |
        (follows[b & 0xffff]! >>> ((b >>> 16) & 15)) |
        (follows[b >>> 16]! >>> (c & 15))
      const cd =
        (follows[c & 0xffff]! >>> ((c >>> 16) & 15)) |
        (follows[c >>> 16]! >>> (d & 15)) |
        (follows[d & 0xffff]! >>> ((d >>> 16) & 15)) |
        (follows[d >>> 16]! >>> (e & 15))
      const ef =
        (follows[e & 0xffff]! >>> ((e >>> 16) & 15)) |
        (follows[e >>> 16]! >>> (f & 15)) |
        (follows[f & 0xffff]! >>> ((f >>> 16) & 15)) |
        (follows[f >>> 16]! >>> (g & 15))
      const gh =
        (follows[g & 0xffff]! >>> ((g >>> 16) & 15)) |
        (follows[g >>> 16]! >>> (h & 15)) |
        (follows[h & 0xffff]! >>> ((h >>> 16) & 15)) |
        (follows[h >>> 16]! >>> (i & 15))
      if (((ab | cd | ef | gh) & 1) === 0) continue
      const place = aligned + at * 4
      let found = (ab & 1) === 0 ? -1 : among(this.#table, bytes, place, place + 8)
      if (found === -1 && (cd & 1) !== 0) found = among(this.#table, bytes, place + 8, place + 16)
      if (found === -1 && (ef & 1) !== 0) found = among(this.#table, bytes, place + 16, place + 24)
      if (found === -1 && (gh & 1) !== 0) found = among(this.#table, bytes, place + 24, place + 32)
      if (found !== -1) return found
    }
    return among(this.#table, bytes, aligned + at * 4, bytes.length - 1)
  }

  #add({ text, back }: Needle, offset: number): void {
    const { follows, suspects } = this.#table
    const pair = text.charCodeAt(offset) | (text.charCodeAt(offset + 1) << 8)
    const isLast = offset + 2 === text.length
    follows[pair]! |= isLast ? 0xffff : 1 << (text.charCodeAt(offset + 2) & 15)
    const suspect = { needle: text, back: back + offset, offset }
    if (suspects.get(pair)?.push(suspect) === undefined) suspects.set(pair, [suspect])
  }
}

/** Of those with the same bytes, the one that reaches farthest back. */
function withoutDoubles(needles: readonly Needle[]): Iterable<Needle> {
  const found = new Map<string, Needle>()
  for (const needle of needles) {
    const known = found.get(needle.text)
    if (known === undefined || known.back < needle.back) found.set(needle.text, needle)
  }
  return found.values()
}

/** The same for pairs that begin at every second place of a few. */
function among({ follows, suspects }: Table, bytes: Uint8Array, from: number, to: number): number {
  for (let at = from; at < to; at += 2) {
    const pair = bytes[at]! | (bytes[at + 1]! << 8)
    if (((follows[pair]! >>> (bytes[at + 2]! & 15)) & 1) === 0) continue
    if (isAnyOf(suspects.get(pair)!, bytes, at)) return at
  }
  return -1
}

function isAnyOf(suspects: readonly Suspect[], bytes: Uint8Array, at: number): boolean {
  for (let index = 0; index < suspects.length; index += 1) {
    const { needle, offset } = suspects[index]!
    if (isAt(needle, bytes, at - offset)) return true
  }
  return false
}

function isAt(needle: string, bytes: Uint8Array, start: number): boolean {
  if (start < 0 || start + needle.length > bytes.length) return false
  for (let at = 0; at < needle.length; at += 1) {
    if (bytes[start + at] !== needle.charCodeAt(at)) return false
  }
  return true
}

function rarestPair(needle: string, parity: number): number {
  const end = Math.min(needle.length, NEAR) - 1
  let best = parity
  let most = -Infinity
  for (let at = parity; at < end; at += 2) {
    const rarity = rarityOf(needle.charCodeAt(at), needle.charCodeAt(at + 1))
    if (rarity > most) best = at
    most = Math.max(most, rarity)
  }
  return best
}

function rarityOf(first: number, second: number): number {
  const place = COMMON.get(first | (second << 8))
  return place === undefined ? RANKS[first]! + RANKS[second]! : place - COMMON.size
}
