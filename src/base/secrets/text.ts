import { NONE, type Source, type Spelling } from './spelling.ts'

const URL_SAFE: Readonly<Record<string, string>> = { '+': '-', '/': '_', '-': '+', _: '/' }
const LETTERS: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  a: '\u0007',
  e: '\u001b',
}
const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  amp: '&',
  apos: "'",
  lt: '<',
  gt: '>',
}

const utf8 = (text: string) => Buffer.from(text).toString('latin1')

/** One escape; the escape character may be escaped again. */
const ESCAPE_AT = new RegExp(
  [
    String.raw`\\{1,8}(?:u(d[89ab][\da-f]{2})\\{1,8}u(d[c-f][\da-f]{2})|u([\da-f]{4})|u\{0*([\da-f]{1,6})\}`,
    String.raw`|x([\da-f]{2})|([0-7]{3})|([nrtbfvae]))`,
    String.raw`|%(?:25){0,2}([\da-f]{2})|&(?:#(\d{1,7})|#x0*([\da-f]{1,6})|(quot|amp|apos|lt|gt));`,
  ].join(''),
  'iy',
)

/** The bytes that the groups of `ESCAPE_AT` stand for. */
function decode(groups: readonly (string | undefined)[]): string {
  const [, high, low, unit, braced, x, octal, letter, percent, decimal, hex, name] = groups
  const byte = x ?? percent
  if (byte !== undefined) return String.fromCharCode(Number.parseInt(byte, 16))
  if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8))
  if (letter !== undefined) return LETTERS[letter] ?? ''
  if (name !== undefined) return ENTITIES[name] ?? ''
  if (decimal !== undefined) return fromCode(Number(decimal))
  if (high === undefined) return fromCode(Number.parseInt((unit ?? braced ?? hex)!, 16))
  return utf8(String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low!, 16)))
}

function fromCode(code: number): string {
  return utf8(String.fromCodePoint(Math.min(code, 0x10ffff)))
}

const escaped = (letter: string, hex: string, octal: string, decimal: number) =>
  String.raw`\\{1,8}(?:${letter}|u000${hex}|x0${hex}|${octal})|%(?:25){0,2}0${hex}|&#(?:${decimal}|x0?${hex});`
const RETURN = `(?:\\r|${escaped('r', '[dD]', '015', 13)})`
const LINE_END = `${RETURN}?(?:\\n|${escaped('n', '[aA]', '012', 10)})`
/** The source of a pattern: a line break, which may be escaped, and the indentation after it. */
export const WRAP = `${LINE_END}[ \\t]{0,8}`

const LINE_END_AT = new RegExp(LINE_END, 'y')
const WRAP_AT = new RegExp(WRAP, 'y')
const PERCENTS_AT = /%(?:25){1,3}/y
const BACKSLASHES_AT = /\\{1,8}/y
/** An escape or a line end that the end of the text cuts off. */
const CUT_AT = new RegExp(
  String.raw`(?:${RETURN})?(?:\\{1,8}(?:u(?:[\da-f]{0,3}|d[89ab][\da-f]{2}(?:\\{1,8}(?:u[\da-f]{0,3})?)?|\{[\da-f]{0,6})|x[\da-f]?|[0-7]{0,2})|%(?:25){0,3}[\da-f]?|&#?\w{0,9}|\\{0,8}['"][\\'"]{0,24})?$`,
  'iy',
)

/** Quotes inside quotes: `'\\''` and `'"'"'` of a shell, and doubled ones of YAML and CSV. */
const QUOTES_AT: Readonly<Record<string, RegExp>> = {
  "'": /'(?:\\{1,8}''|\\{0,8}"'\\{0,8}"'|')/y,
  '"': /\\{0,8}"\\{0,8}"/y,
}

const LONGEST_ESCAPE = 64
/** Fewer characters before a line break prove nothing: `e` before a line break is everywhere. */
const LEAST_BEFORE_WRAP = 4

/** A position in the text, and how many bytes of the value precede it. */
type Position = readonly [at: number, index: number]

/** A value as text, in which any character may be escaped and lines may be wrapped anywhere. */
export class Text implements Spelling {
  readonly skipsAtLineStart = true
  readonly skippable: number
  readonly #value: string
  readonly #isBase64: boolean
  readonly #last: string

  /** Base64 has two alphabets, and may have a `last` character. */
  constructor(value: string, isBase64 = false, last = '') {
    this.#value = utf8(value)
    this.#isBase64 = isBase64
    this.#last = last
    this.skippable = Math.min(3, this.#value.length - 5)
  }

  starts(skipped: number): string[] {
    const starts: string[] = []
    let raw = ['']
    for (let index = skipped; index < skipped + 4; index += 1) {
      const byte = this.#value.charAt(index)
      const other = this.#isBase64 ? URL_SAFE[byte] : undefined
      const mayBeEscaped =
        (!this.#isBase64 || other !== undefined) && (skipped === 0 || index > skipped)
      const escapes = mayBeEscaped ? escapesOf(byte) : []
      starts.push(...raw.flatMap((before) => escapes.map((escape) => before + escape)))
      raw = raw.flatMap((before) => [
        before + byte,
        ...(other === undefined ? [] : [before + other]),
      ])
    }
    return [...starts, ...raw]
  }

  match(source: Source, start: number, skipped: number): number {
    const { text } = source
    const { length } = this.#value
    const open: Position[] = []
    let tried: Set<number> | undefined
    for (
      let place: Position | undefined = [start, skipped];
      place !== undefined;
      place = open.pop()
    ) {
      let [at, index] = place
      while (index < length && this.#isSame(text, at, index) && !isSpecial(text, at)) {
        at += 1
        index += 1
      }
      if (at >= text.length) source.ranOut = true
      if (index === length) return at + (this.#isLast(text, at) ? 1 : 0)
      if (!isSpecial(text, at)) continue
      tried ??= new Set()
      const mayWrap = index - skipped >= LEAST_BEFORE_WRAP
      for (const next of this.#read(source, at, index, mayWrap)) {
        const key = next[0] * length + next[1]
        if (!tried.has(key)) open.push(next)
        tried.add(key)
      }
    }
    return NONE
  }

  /** All ways to read the next character, the preferred one last. */
  #read(source: Source, at: number, index: number, mayWrap: boolean): Position[] {
    const { text } = source
    const expected = this.#value.charAt(index)
    CUT_AT.lastIndex = at
    if (text.length - at < LONGEST_ESCAPE && CUT_AT.test(text)) source.ranOut = true
    const places: Position[] = []
    const add = (end: number, bytes = 1) => end > at && places.push([end, index + bytes])
    if (this.#isSame(text, at, index) || (expected === ' ' && text[at] === '+')) add(at + 1)
    const afterBackslashes = endOf(BACKSLASHES_AT, text, at)
    if (expected === '\\') for (let end = at + 2; end <= afterBackslashes; end += 1) add(end)
    else if (!/[A-Za-z0-9]/.test(expected) && this.#isSame(text, afterBackslashes, index))
      add(afterBackslashes + 1)
    if (expected === '%')
      for (let end = endOf(PERCENTS_AT, text, at); end > at + 1; end -= 2) add(end)
    if (expected === '\n') add(endOf(LINE_END_AT, text, at))
    const quotes = QUOTES_AT[expected]
    if (quotes !== undefined) add(endOf(quotes, text, at))
    ESCAPE_AT.lastIndex = at
    const escape = ESCAPE_AT.exec(text)
    const bytes = escape === null ? '' : decode(escape)
    if (
      bytes !== '' &&
      Array.from(bytes).every((_, each) => this.#isSame(bytes, each, index, each))
    )
      add(ESCAPE_AT.lastIndex, bytes.length)
    const line = mayWrap && places.length === 0 ? endOf(WRAP_AT, text, at) : NONE
    if (line <= at) return places
    if (line >= text.length) source.ranOut = true
    if (!isSpecial(text, line))
      return this.#isSame(text, line, index) ? [[line + 1, index + 1]] : []
    return this.#read(source, line, index, false)
  }

  #isSame(text: string, at: number, index: number, offset = 0): boolean {
    const [is, expected] = [text.charAt(at), this.#value.charAt(index + offset)]
    return is !== '' && (is === expected || (this.#isBase64 && URL_SAFE[is] === expected))
  }

  #isLast(text: string, at: number): boolean {
    const is = text.charAt(at)
    return this.#last !== '' && (is === this.#last || URL_SAFE[is] === this.#last)
  }
}

/** Whether the character can be read in more than one way. */
function isSpecial(text: string, at: number): boolean {
  return '\\%&+\r\n\'"'.includes(text.charAt(at)) && at < text.length
}

/** The first characters of each escape of a character with this first byte. */
function escapesOf(byte: string): string[] {
  const code = byte.charCodeAt(0)
  const hex = code.toString(16).padStart(2, '0')
  const keysOf = (names: Readonly<Record<string, string>>) =>
    Object.keys(names).filter((name) => names[name] === byte)
  const octal = code.toString(8).padStart(3, '0')
  const letters = [...(code < 128 ? ['u00', 'u{'] : ['u']), `x${hex.charAt(0)}`, octal.slice(0, 2)]
  letters.push(...keysOf(LETTERS))
  if (!/[A-Za-z0-9]/.test(byte)) letters.push(byte)
  return [
    ...letters.flatMap((letter) => [`\\${letter}`, `\\\\${letter}`]),
    '\\\\\\',
    '%25',
    ...[hex, hex.toUpperCase()].map((digits) => `%${digits}`),
    ...['#', ...keysOf(ENTITIES)].map((name) => `&${name}`.slice(0, 3)),
    ...(byte === ' ' ? ['+'] : []),
    ...(byte === "'" ? ["'\\", `'"`, "''"] : []),
    ...(byte === '"' ? ['""'] : []),
    ...(byte === '\n' ? ['\r\n', '\\r', '\\\\r', '%0d', '%0D'] : []),
  ]
}

/** The end of what a pattern matches at a position; -1 if it does not match there. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : NONE
}
