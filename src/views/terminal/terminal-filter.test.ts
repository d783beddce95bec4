import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { reduceLine, TerminalFilter } from './terminal-filter.ts'

function reduce(...pieces: readonly string[]): string {
  const filter = new TerminalFilter()
  const shown = pieces.map((piece) => filter.push(piece)).join('')
  const { text, reset } = filter.finish()
  return shown + text + reset
}

test.each([
  ['text, tabs, line ends and carriage returns', 'a\tb\r\nc\rd é 日 👍\n'],
  ['colours', '\u001b[31mred\u001b[0m \u001b[38;2;1;2;3;4:3mx\u001b[m'],
  ['links to the web', '\u001b]8;id=a;https://example.org/?a=1\u001b\\here\u001b]8;;\u001b\\'],
  ['marks of right-to-left scripts', 'שלום\u200f!'],
])('%s pass', (_, text) => {
  expect(reduce(text)).toBe(text)
})

test.each([
  ['cursor and erase', 'a\u001b[2J\u001b[H\u001b[1A\u001b[K\u001b[10Db', 'ab'],
  ['modes', '\u001b[?25l\u001b[?1049h\u001b[?2004h\u001b[>4;1mx', 'x'],
  ['a window that reports itself', '\u001b[21t\u001b[6n\u001b[cx', 'x'],
  ['resets and charsets', '\u001bc\u001b(0\u001b7\u001bM\u001b#8x', 'x'],
  ['single controls', 'a\u0000\u0007\b\u000b\f\u000e\u007f\u0085b', 'ab'],
  ['C1 as one character', '\u009b2J\u009b31mx', '\u001b[31mx\u001b[0m'],
  ['line separators', 'a\u2028b\u2029c', 'abc'],
  ['overrides of direction', 'a\u202eb\u2066c\u2069', 'abc'],
])('%s are dropped', (_, text, shown) => {
  expect(reduce(text)).toBe(shown)
})

test.each([
  ['a clipboard', '\u001b]52;c;ZXZpbA==\u0007x', '^[]52;c;ZXZpbA==^Gx'],
  ['a title', '\u001b]0;mine\u001b\\x', '^[]0;mine^[\\x'],
  ['a title as C1', '\u009d0;mine\u009cx', '^[]0;mine^[\\x'],
  ['DCS', '\u001bP$q"p\u001b\\x', '^[P$q"p^[\\x'],
  ['APC', '\u001b_Gi=1;AAAA\u001b\\x', '^[_Gi=1;AAAA^[\\x'],
  ['a link to a file', '\u001b]8;;file:///etc/passwd\u0007x', '^[]8;;file:///etc/passwd^Gx'],
  ['a link that is never closed', '\u001b]8;;https://x.y/', '^[]8;;https://x.y/'],
  ['a long one', `\u001b]52;c;${'A'.repeat(99)}\u0007x`, `^[]52;c;${'A'.repeat(32)}…^Gx`],
  ['an open one at the end of a line', '\u001b]0;mine\nnext', '^[]0;mine\nnext'],
  ['an endless one', `\u001b]0;${'a'.repeat(9000)}\nnext`, `^[]0;${'a'.repeat(35)}…\nnext`],
])('%s is shown as text', (_, text, shown) => {
  expect(reduce(text)).toBe(shown)
  expect(reduce(...text.split(''))).toBe(shown)
})

test('open colours and links are closed at the end of the text', () => {
  expect(reduce('\u001b[8mhidden')).toBe('\u001b[8mhidden\u001b[0m')
  const link = '\u001b]8;;https://x.y\u001b\\z'
  expect(reduce(link)).toBe(`${link}\u001b]8;;\u001b\\`)
  expect(reduceLine('a\u001b[31mb\rc\u001b[2J\nd')).toBe('a\u001b[31mb c d\u001b[0m')
})

/** Everything that may reach a terminal: text, colours and links to the web. */
const HARMLESS =
  // oxlint-disable-next-line no-control-regex
  /^(?:[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]|\u001b\[[\d;:]*m|\u001b\]8;[!-~]*\u001b\\)*$/

test('however the text is cut, only harmless sequences are left, and always the same ones', () => {
  const parts = String.raw`\u001b [ ] 8;; https://a 52;c; 31 ; m J \\ \u0007 P \u009b \u009c \u009d \u0090 x \n \r \u202e`
  const part = fc.constantFrom(
    ...parts.split(' ').map((each) => JSON.parse(`"${each}"`) as string),
    ' ',
    '\u001b]8;;http://b',
    'a'.repeat(60),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (pieces) => {
      const whole = reduce(pieces.join(''))
      expect(reduce(...pieces)).toBe(whole)
      expect(reduce(...pieces.join('').split(''))).toBe(whole)
      expect(whole).toMatch(HARMLESS)
    }),
    { numRuns: 2000 },
  )
})
