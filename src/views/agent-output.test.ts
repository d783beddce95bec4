import { expect, test } from 'bun:test'
import { AgentOutput, TerminalLine } from './agent-output.ts'

const COLUMNS = 40

function show(...chunks: readonly (string | Uint8Array)[]): string {
  const output = new AgentOutput(new TerminalLine(), () => COLUMNS)
  const shown = chunks.map((chunk) => Buffer.from(output.push(Buffer.from(chunk))).toString())
  const { text, reset } = output.finish()
  return shown.join('') + text + reset
}

test.each([
  ['[forkhestra] Chain complete\n', 'agent: [forkhestra] Chain complete\n'],
  ['a\n  [forkhestra] x', 'a\n  agent: [forkhestra] x'],
  ['50 %\r[forkhestra] x', '50 %\ragent: [forkhestra] x'],
  ['\u001b[2m[fork\u001b[mhestra] x', '\u001b[2magent: [fork\u001b[mhestra] x'],
  ['\u001b[2J[forkhestra] x', 'agent: [forkhestra] x'],
  ['\u0000[fork\u0007hestra] x', 'agent: [forkhestra] x'],
  ['\u00a0\u3000[forkhestra] x', '\u00a0\u3000agent: [forkhestra] x'],
  ['\u2800[forkhestra] x', '\u2800agent: [forkhestra] x'],
  ['[fork\u200b\u001b[m\u2060hestra] x', 'agent: [fork\u200b\u001b[m\u2060hestra] x'],
])('a line that looks like ours is labelled: %j', (text, shown) => {
  expect(show(text)).toBe(shown)
  expect(show(...text.split(''))).toBe(shown)
})

const UNSEEN =
  '\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u061c\u115f\u180e\u200e\u2064\u3164\ufe0f\ufff9\u{e0001}\u{e0100}'

test.each(UNSEEN.split(/(?:)/u))(
  'an invisible character does not prevent the label: %j',
  (sign) => {
    const text = `a\n${sign}[${sign}forkhestra] x\n`
    const shown = `a\n${sign}agent: [${sign}forkhestra] x\n`
    expect(show(text)).toBe(shown)
    expect(show(...Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)))).toBe(shown)
  },
)

test('a name split by more than can be held back is labelled too', () => {
  const gap = '\u200b'.repeat(9000)
  const shown = show('[fork', ...gap.match(/.{1000}/gu)!, 'hestra] x')
  expect(shown).toStartWith('agent: [fork')
})

test.each([
  ['text', 'x'.repeat(COLUMNS)],
  ['several rows of text', 'x'.repeat(3 * COLUMNS)],
  ['blanks', ' '.repeat(COLUMNS)],
  ['blanks that leave room for the label alone', ' '.repeat(COLUMNS - 7)],
  ['text that leaves room for the label alone', 'x'.repeat(2 * COLUMNS - 7)],
  ['text and blanks', `x${' '.repeat(COLUMNS)}`],
  ['wide characters', '日'.repeat(COLUMNS / 2)],
  ['tabs', 'x\t\t\t\t\t'],
  ['text in colour', `\u001b[31m${'x'.repeat(COLUMNS)}\u001b[m`],
])('a name that may begin a row of the terminal gets a line of its own: %s', (_, before) => {
  const shown = `${before}\nagent: [forkhestra] x\n`
  expect(show(`${before}[forkhestra] x\n`)).toBe(shown)
  expect(show(...`${before}[forkhestra] x\n`.split(/(?:)/u))).toBe(shown)
})

test('streams to the same terminal share its line', () => {
  const line = new TerminalLine()
  const [out, err] = [0, 1].map(() => new AgentOutput(line, () => COLUMNS))
  const push = (output: AgentOutput | undefined, text: string) =>
    Buffer.from(output!.push(Buffer.from(text))).toString()
  expect(push(out, 'abc')).toBe('abc')
  expect(push(err, '\n')).toBe('\n')
  expect(push(out, '[forkhestra] x\n')).toBe('agent: [forkhestra] x\n')
  expect(push(out, 'x'.repeat(COLUMNS))).toBe('x'.repeat(COLUMNS))
  expect(push(err, '[forkhestra] x\n')).toBe('\nagent: [forkhestra] x\n')
})

test.each([
  ['see [forkhestra] in the log\n'],
  ['[fork] me\n[forkhestr] x\n'],
  ['[forkhes'],
  ['[1/3] building\n'],
  [`${'x'.repeat(COLUMNS - 1)}[forkhestra] x\n`],
  [`${'x'.repeat(COLUMNS)}\nsee [forkhestra]\n`],
])('other lines are unchanged: %j', (text) => {
  expect(show(text)).toBe(text)
  expect(show(...text.split(''))).toBe(text)
})

test('characters may be cut by the end of a chunk, and broken ones cannot be controls', () => {
  const bytes = Buffer.from('é日👍\u009b2Jx')
  expect(show(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe('é日👍x')
  expect(show(Uint8Array.of(0x61, 0x9b, 0x32, 0x4a, 0xff, 0x62))).toBe('a\ufffd2J\ufffdb')
  expect(show(Uint8Array.of(0x61, 0xc2))).toBe('a\ufffd')
})

test.each([
  ['plain text', ['plain text']],
  ['\u001b[31mred', ['\u001b[31mred\u001b[0m']],
  ['[forkhestra] Chain complete', ['agent: [forkhestra] Chain complete']],
  [
    'words and more words that do not fit [forkhestra] here',
    ['words and more words that do not ', 'fit [forkhestra] here'],
  ],
  [
    'words and more words that do fit [forkhestra] here',
    ['words and more words that do fit ', 'agent: [forkhestra] here'],
  ],
  [`see https://x.test/${'x'.repeat(30)}`, ['see ', `https://x.test/${'x'.repeat(30)}`]],
  ['日'.repeat(20), ['日'.repeat(17), '日'.repeat(3)]],
  ['', ['']],
])('a line after a prefix is wrapped, and each row is safe: %j', (text, rows) => {
  expect(new AgentOutput(new TerminalLine(), () => COLUMNS).rows(text, 'a#1 │ ')).toEqual(rows)
})
