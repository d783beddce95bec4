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
export const NEAR = 16

interface Suspect {
  readonly needle: Uint8Array
  /** Where the pair stands in the needle. */
  readonly offset: number
  /** Where, from the pair, a byte is that tells most mistakes. */
  readonly other: number
}

interface Table {
  /** 0 where no needle has the pair. */
  readonly groupOfPair: Uint8Array
  readonly groups: Suspect[][]
}

/**
 * Finds many short sequences of bytes in one pass. A native search for each of them costs more than
 * all of them here: every second pair of bytes is looked up in a table, sixteen in one condition.
 * Of each needle the table has one pair at an even and one at an odd place, so that one of the two
 * is met wherever the needle begins.
 */
export class Needles {
  readonly #table: Table = { groupOfPair: new Uint8Array(0x10000), groups: [[]] }

  /** Needles have at least three bytes. */
  constructor(needles: readonly Uint8Array[]) {
    for (const needle of needles) {
      for (const parity of [0, 1]) this.#add(needle, rarestPair(needle, parity))
    }
  }

  /** Where, at or behind `from`, the pair of a needle is, or -1. The needle begins at most `NEAR` before. */
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

  #add(needle: Uint8Array, offset: number): void {
    const { groupOfPair, groups } = this.#table
    const pair = needle[offset]! | (needle[offset + 1]! << 8)
    // With more pairs than a byte can tell apart, the last group is shared.
    if (groupOfPair[pair] === 0) groupOfPair[pair] = Math.min(groups.length, 255)
    const suspects = (groups[groupOfPair[pair]!] ??= [])
    suspects.push({ needle, offset, other: offset === 0 ? 2 : -1 })
  }
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
    const { needle, offset, other } = suspects[index]!
    if (bytes[at + other] === needle[offset + other] && isAt(needle, bytes, at - offset))
      return true
  }
  return false
}

function isAt(needle: Uint8Array, bytes: Uint8Array, start: number): boolean {
  if (start < 0 || start + needle.length > bytes.length) return false
  for (let at = 0; at < needle.length; at += 1) {
    if (bytes[start + at] !== needle[at]) return false
  }
  return true
}

function rarestPair(needle: Uint8Array, parity: number): number {
  const end = Math.min(needle.length, NEAR) - 1
  let best = parity
  let most = -Infinity
  for (let at = parity; at < end; at += 2) {
    const rarity = rarityOf(needle[at]!, needle[at + 1]!)
    if (rarity > most) best = at
    most = Math.max(most, rarity)
  }
  return best
}

function rarityOf(first: number, second: number): number {
  const place = COMMON.get(first | (second << 8))
  return place === undefined ? RANKS[first]! + RANKS[second]! : place - COMMON.size
}
