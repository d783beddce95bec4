// Reads one character of a known text in any escaped form: raw, `%2F`, `\u002f`, `\x2f`, `\057`, `\/`,
// `&#47;`, `&quot;`, and these forms escaped again.

/** Bytes of a stream that may continue. */
export class Reader {
  bytes: Uint8Array = new Uint8Array(0)
  /** Whether bytes after the end were requested, so that more input could change the result. */
  ranOut = false

  /** How many alternatives may still be tried; a value of many backslashes would have too many. */
  tries = 0

  /** The byte at a position; -1 after the end. */
  at(place: number): number {
    if (place < this.bytes.length) return this.bytes[place]!
    this.ranOut = true
    return -1
  }
}

const NONE = -1
const MOST_BACKSLASHES = 8
const NEWLINE = 10
const RETURN = 13
const SPACE = 32
const PERCENT = 37
const AMPERSAND = 38
const PLUS = 43
const BACKSLASH = 92

const LETTERS: Readonly<Record<string, number>> = {
  n: NEWLINE,
  r: RETURN,
  t: 9,
  b: 8,
  f: 12,
  v: 11,
  a: 7,
  e: 27,
}
const LETTER_CODES = new Map(
  Object.entries(LETTERS).map(([letter, code]) => [letter.charCodeAt(0), code]),
)
const ENTITIES: Readonly<Record<number, string>> = {
  34: 'quot;',
  38: 'amp;',
  39: 'apos;',
  60: 'lt;',
  62: 'gt;',
}

/** Whether a raw character can also begin an escape, so that both readings must be tried. */
export function beginsEscape(code: number): boolean {
  return code === PERCENT || code === AMPERSAND || code === BACKSLASH
}

/** The end of an unescaped character, or -1. */
export function readRaw(reader: Reader, at: number, code: number): number {
  if (code < 0x80) return reader.at(at) === code ? at + 1 : NONE
  return readLiteral(reader, at, utf8(code))
}

/** The end of an escaped character, or -1. A newline may be written as `\r\n`. */
export function readEscaped(reader: Reader, at: number, code: number, quotable: boolean): number {
  const end = readEscape(reader, at, code, quotable)
  if (end !== NONE || code !== NEWLINE) return end
  const raw = readRaw(reader, at, RETURN)
  const second = raw === NONE ? readEscape(reader, at, RETURN, true) : raw
  if (second === NONE) return NONE
  const newline = readRaw(reader, second, NEWLINE)
  return newline === NONE ? readEscape(reader, second, NEWLINE, true) : newline
}

function readEscape(reader: Reader, at: number, code: number, quotable: boolean): number {
  const first = reader.at(at)
  if (first === BACKSLASH) return readBackslash(reader, at, code, quotable)
  if (first === PERCENT) return readEach(reader, at, code, readPercent)
  if (first === AMPERSAND) return readEntity(reader, at + 1, code)
  if (first === PLUS && code === SPACE) return at + 1
  return NONE
}

/** The end of an escape whose `%` or backslash was escaped again, such as `%2525`, or -1. */
export function readAgain(reader: Reader, end: number, code: number): number {
  if (code === PERCENT) return readHex(reader, end, 2) === PERCENT ? end + 2 : NONE
  const isAgain = code === BACKSLASH && reader.at(end) === code && reader.at(end + 1) === code
  return isAgain ? end + 2 : NONE
}

/** The end of a line break and of the indentation after it, or -1. */
export function readWrap(reader: Reader, at: number): number {
  const raw = readRaw(reader, at, NEWLINE)
  let end = raw === NONE ? readEscaped(reader, at, NEWLINE, true) : raw
  if (end === NONE) return NONE
  for (let most = end + 8; end < most && isBlank(reader.at(end));) end += 1
  return end
}

export function isBlank(byte: number): boolean {
  return byte === SPACE || byte === 9
}

function readLiteral(reader: Reader, at: number, literal: Uint8Array): number {
  for (let index = 0; index < literal.length; index += 1) {
    if (reader.at(at + index) !== literal[index]) return NONE
  }
  return at + literal.length
}

function utf8(code: number): Uint8Array {
  return Buffer.from(String.fromCodePoint(code))
}

function readBackslash(reader: Reader, at: number, code: number, quotable: boolean): number {
  const after = skipBackslashes(reader, at)
  const letter = reader.at(after)
  let end = NONE
  if (LETTER_CODES.get(letter) === code) end = after + 1
  if (end === NONE && letter === 117) end = readUnicode(reader, after + 1, code)
  if (end === NONE && (letter === 120 || isOctal(letter)))
    end = readEach(reader, at, code, readByte)
  if (end !== NONE || !quotable) return end
  if (code === BACKSLASH) return reader.at(at + 1) === BACKSLASH ? at + 2 : NONE
  return readRaw(reader, after, code)
}

function skipBackslashes(reader: Reader, from: number): number {
  let at = from
  while (at - from < MOST_BACKSLASHES && reader.at(at) === BACKSLASH) at += 1
  return at
}

/** Reads what follows `\u`: four digits, a surrogate pair, or digits in braces. */
function readUnicode(reader: Reader, at: number, code: number): number {
  if (reader.at(at) === 123) {
    const { value, end } = readNumber(reader, at + 1, 16)
    return value === code && reader.at(end) === 125 ? end + 1 : NONE
  }
  if (code <= 0xffff) return readHex(reader, at, 4) === code ? at + 4 : NONE
  const high = 0xd800 + ((code - 0x10000) >> 10)
  if (readHex(reader, at, 4) !== high) return NONE
  const second = skipBackslashes(reader, at + 4)
  const low = 0xdc00 + ((code - 0x10000) & 0x3ff)
  const isLow = reader.at(second) === 117 && readHex(reader, second + 1, 4) === low
  return isLow ? second + 5 : NONE
}

/** Reads a character whose bytes are escaped one by one. */
function readEach(
  reader: Reader,
  from: number,
  code: number,
  read: (reader: Reader, at: number, byte: number) => number,
): number {
  if (code < 0x80) return read(reader, from, code)
  let at = from
  for (const byte of utf8(code)) {
    at = read(reader, at, byte)
    if (at === NONE) return NONE
  }
  return at
}

/** `%2F`, also with its percent sign escaped once or twice, such as `%252F`. */
function readPercent(reader: Reader, at: number, byte: number): number {
  if (reader.at(at) !== PERCENT) return NONE
  for (let digits = at + 1; digits < at + 6; digits += 2) {
    const value = readHex(reader, digits, 2)
    if (value === byte) return digits + 2
    if (value !== PERCENT) return NONE
  }
  return NONE
}

/** `\x2f` or `\057`. */
function readByte(reader: Reader, at: number, byte: number): number {
  if (reader.at(at) !== BACKSLASH) return NONE
  const after = skipBackslashes(reader, at)
  if (reader.at(after) === 120) return readHex(reader, after + 1, 2) === byte ? after + 3 : NONE
  let value = 0
  for (let index = 0; index < 3; index += 1) {
    const digit = reader.at(after + index)
    if (!isOctal(digit)) return NONE
    value = value * 8 + digit - 48
  }
  return value === byte ? after + 3 : NONE
}

/** Reads what follows an ampersand: `#47;`, `#x2f;` or a name. */
function readEntity(reader: Reader, at: number, code: number): number {
  if (reader.at(at) !== 35) {
    const name = ENTITIES[code]
    return name === undefined ? NONE : readLiteral(reader, at, Buffer.from(name))
  }
  const isHex = (reader.at(at + 1) | 0x20) === 120
  const { value, end } = readNumber(reader, at + (isHex ? 2 : 1), isHex ? 16 : 10)
  return value === code && reader.at(end) === 59 ? end + 1 : NONE
}

/** At most seven digits. */
function readNumber(reader: Reader, from: number, base: 10 | 16): { value: number; end: number } {
  let value = 0
  let end = from
  for (; end < from + 7; end += 1) {
    const digit = hexDigit(reader.at(end))
    if (digit === NONE || digit >= base) break
    value = value * base + digit
  }
  return { value: end === from ? NONE : value, end }
}

function readHex(reader: Reader, at: number, digits: number): number {
  let value = 0
  for (let index = 0; index < digits; index += 1) {
    const digit = hexDigit(reader.at(at + index))
    if (digit === NONE) return NONE
    value = value * 16 + digit
  }
  return value
}

export function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48
  const letter = byte | 0x20
  return letter >= 97 && letter <= 102 ? letter - 87 : NONE
}

function isOctal(byte: number): boolean {
  return byte >= 48 && byte <= 55
}

/** The bytes of one character, as Latin-1. */
export function latin1(character: string): string {
  return character < '\u0080' ? character : Buffer.from(character).toString('latin1')
}

const escapes = new Map<number, readonly string[]>()

/** The first characters, at least three, of each escape of a character; see `readEscaped`. */
export function escapesOf(code: number): readonly string[] {
  let found = escapes.get(code)
  if (found === undefined) escapes.set(code, (found = makeEscapes(code)))
  return found
}

function makeEscapes(code: number): string[] {
  const byte = utf8(code)[0]!
  const unit = String.fromCodePoint(code).charCodeAt(0).toString(16).padStart(4, '0')
  const hex = byte.toString(16).padStart(2, '0')
  return [
    ...allCases(unit.slice(0, 3)).map((digits) => `\\u${digits}`),
    '\\u{',
    ...allCases(hex.charAt(0)).map((digit) => `\\x${digit}`),
    `\\${byte.toString(8).padStart(3, '0').slice(0, 2)}`,
    ...allCases(hex).map((digits) => `%${digits}`),
    '%25',
    `&#${String(code).charAt(0)}`,
    '&#x',
    '&#X',
    '&#0',
    ...(ENTITIES[code] === undefined ? [] : [`&${ENTITIES[code]}`]),
    ...(code === NEWLINE ? ['%0d', '%0D'] : []),
  ]
}

/** Escapes of one or two characters. */
export function shortEscapesOf(code: number, quotable: boolean): string[] {
  const letter = Object.keys(LETTERS).find((each) => LETTERS[each] === code)
  return [
    ...(quotable ? [`\\${latin1(String.fromCodePoint(code))}`] : []),
    ...(letter === undefined ? [] : [`\\${letter}`]),
    ...(code === SPACE ? ['+'] : []),
    ...(code === NEWLINE ? ['\r', '\\r'] : []),
  ]
}

/** Hexadecimal digits in every combination of upper and lower case. */
function allCases(digits: string): string[] {
  const [first, ...rest] = digits
  if (first === undefined) return ['']
  const firsts = first >= 'a' ? [first, first.toUpperCase()] : [first]
  return allCases(rest.join('')).flatMap((others) => firsts.map((each) => each + others))
}

/** Whether a backslash before this character has no meaning of its own, as in `\/`. */
export function isQuotable(code: number, before: number | undefined): boolean {
  return before === BACKSLASH || !isAlphanumeric(code)
}

function isAlphanumeric(code: number): boolean {
  const letter = code | 0x20
  return (code >= 48 && code <= 57) || (letter >= 97 && letter <= 122)
}
