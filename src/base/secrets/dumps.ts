/** Bytes as `od`, `xxd`, `hexdump` and similar programs print them. */
export interface Dump {
  readonly length: number
  readonly cell: (index: number) => string
  /** The separator between a cell and the next one. */
  readonly between: (index: number) => string
  /** Whether the digits may be upper or lower case letters. */
  readonly isHex?: boolean
}

/** All dump formats of these bytes. */
export function dumpsOf(bytes: Uint8Array): Dump[] {
  const dump = (cell: (byte: number) => string, between: string, isHex = false): Dump => ({
    length: bytes.length,
    cell: (index) => cell(bytes[index]!),
    between: () => between,
    isHex,
  })
  // Words are little-endian. Bytes that share a word with bytes outside of the value are left out.
  const words = (from: number, size: number, radix: number, width: number): Dump => ({
    length: Math.floor((bytes.length - from) / size),
    cell: (index) => {
      const word = bytes.subarray(from + index * size, from + (index + 1) * size)
      const value = word.reduceRight((all, byte) => all * 256 + byte, 0)
      return digits(value, radix, width)
    },
    between: () => ' ',
    isHex: radix === 16,
  })
  const aligned = (cell: (byte: number) => string, width: number): Dump => ({
    ...dump(cell, ' '),
    between: (index) => ' '.repeat(width - cell(bytes[index + 1] ?? 0).length),
  })
  // `xxd` writes two bytes together.
  const pairs = (odd: number): Dump => ({
    ...dump(hex, ' ', true),
    between: (index) => (index % 2 === odd ? ' ' : ''),
  })
  return [
    ...['', ' ', ':', ', 0x'].map((between) => dump(hex, between, true)),
    ...[0, 1].map(pairs),
    dump(characterCell, ' '),
    aligned(characterCell, 4),
    ...[',', ', ', ' '].map((between) => dump(String, between)),
    ...[4, 5].map((width) => aligned(String, width)),
    dump((byte) => digits(byte, 8, 3), ' '),
    dump((byte) => digits(byte, 2, 8), ' '),
    ...[0, 1].flatMap((from) => [words(from, 2, 16, 4), words(from, 2, 8, 6)]),
    ...[0, 1, 2, 3].map((from) => words(from, 4, 16, 8)),
  ].filter(({ length }) => length > 2)
}

function hex(byte: number): string {
  return digits(byte, 16, 2)
}

function digits(value: number, radix: number, width: number): string {
  return value.toString(radix).padStart(width, '0')
}

/** A byte as `od -c` shows it. */
function characterCell(byte: number): string {
  if (byte >= 32 && byte < 127) return String.fromCharCode(byte)
  const letter = { 9: 't', 10: 'n', 13: 'r' }[byte]
  return letter === undefined ? digits(byte, 8, 3) : `\\${letter}`
}
