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
  /** Where the pair stands in the needle. */
  readonly offset: number
  /** Where, from the pair, a byte is that tells most mistakes. */
  readonly other: number
}

interface Table {
  /** 0 where no needle has the pair. */
  readonly groupOfPair: Uint16Array
  readonly groups: Suspect[][]
}

/**
 * Finds many short sequences of bytes in one pass. A native search for each of them costs more than
 * all of them here: every second pair of bytes is looked up in a table, sixteen in one condition.
 * Of each needle the table has one pair at an even and one at an odd place, so that one of the two
 * is met wherever the needle begins.
 */
export class Needles {
  readonly #table: Table = { groupOfPair: new Uint16Array(0x10000), groups: [[]] }
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
    const { groupOfPair, groups } = this.#table
    const suspects = groups[groupOfPair[bytes[pair]! | (bytes[pair + 1]! << 8)]!]!
    return suspects.reduce(
      (back, suspect) => (isHere(suspect, bytes, pair) ? Math.max(back, suspect.back) : back),
      0,
    )
  }

  /** Where, at or after `from`, the pair of a needle is, or -1. */
  next(bytes: Uint8Array, from: number): number {
    const groups = this.#table.groupOfPair
    const isOdd = (bytes.byteOffset + from) & 1
    if (bytes.length - from < 64) return among(this.#table, bytes, from + isOdd, bytes.length - 1)
    const aligned = from + (-(bytes.byteOffset + from) & 3)
    const before = among(this.#table, bytes, from + isOdd, aligned)
    if (before !== -1) return before
    const length = (bytes.length - aligned) >> 2
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + aligned, length)
    let at = 0
    for (; at < length - 7; at += 8) {
      const a = words[at]!
      const b = words[at + 1]!
      const c = words[at + 2]!
      const d = words[at + 3]!
      const e = words[at + 4]!
      const f = words[at + 5]!
      const g = words[at + 6]!
      const h = words[at + 7]!
      const ab = groups[a & 0xffff]! | groups[a >>> 16]! | groups[b & 0xffff]! | groups[b >>> 16]!
      const cd = groups[c & 0xffff]! | groups[c >>> 16]! | groups[d & 0xffff]! | groups[d >>> 16]!
      const ef = groups[e & 0xffff]! | groups[e >>> 16]! | groups[f & 0xffff]! | groups[f >>> 16]!
      const gh = groups[g & 0xffff]! | groups[g >>> 16]! | groups[h & 0xffff]! | groups[h >>> 16]!
      if ((ab | cd | ef | gh) === 0) continue
      const place = aligned + at * 4
      let found = ab === 0 ? -1 : among(this.#table, bytes, place, place + 8)
      if (found === -1 && cd !== 0) found = among(this.#table, bytes, place + 8, place + 16)
      if (found === -1 && ef !== 0) found = among(this.#table, bytes, place + 16, place + 24)
      if (found === -1 && gh !== 0) found = among(this.#table, bytes, place + 24, place + 32)
      if (found !== -1) return found
    }
    return among(this.#table, bytes, aligned + at * 4, bytes.length - 1)
  }

  #add({ text, back }: Needle, offset: number): void {
    const { groupOfPair, groups } = this.#table
    const pair = text.charCodeAt(offset) | (text.charCodeAt(offset + 1) << 8)
    if (groupOfPair[pair] === 0) groupOfPair[pair] = groups.push([]) - 1
    const other = offset === 0 ? 2 : -1
    groups[groupOfPair[pair]!]!.push({ needle: text, back: back + offset, offset, other })
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
function among(table: Table, bytes: Uint8Array, from: number, to: number): number {
  const { groupOfPair, groups } = table
  for (let at = from; at < to; at += 2) {
    const group = groupOfPair[bytes[at]! | (bytes[at + 1]! << 8)]!
    if (group !== 0 && isAnyOf(groups[group]!, bytes, at)) return at
  }
  return -1
}

function isAnyOf(suspects: readonly Suspect[], bytes: Uint8Array, at: number): boolean {
  for (let index = 0; index < suspects.length; index += 1) {
    if (isHere(suspects[index]!, bytes, at)) return true
  }
  return false
}

function isHere({ needle, offset, other }: Suspect, bytes: Uint8Array, at: number): boolean {
  return bytes[at + other] === needle.charCodeAt(offset + other) && isAt(needle, bytes, at - offset)
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
