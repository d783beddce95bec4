import { expect, test } from 'bun:test'
import { AgentOutput } from './agent-output.ts'

function show(...chunks: readonly (string | Uint8Array)[]): string {
  const output = new AgentOutput()
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
])('a line that begins like ours is said to be an agent’s: %j', (text, shown) => {
  expect(show(text)).toBe(shown)
  expect(show(...text.split(''))).toBe(shown)
})

test.each([
  ['see [forkhestra] in the log\n'],
  ['[fork] me\n[forkhestr] x\n'],
  ['[forkhes'],
  ['[1/3] building\n'],
])('other lines stay as they are: %j', (text) => {
  expect(show(text)).toBe(text)
  expect(show(...text.split(''))).toBe(text)
})

test('characters may be cut by the end of a chunk, and broken ones cannot be controls', () => {
  const bytes = Buffer.from('é日👍\u009b2Jx')
  expect(show(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toBe('é日👍x')
  expect(show(Uint8Array.of(0x61, 0x9b, 0x32, 0x4a, 0xff, 0x62))).toBe('a\ufffd2J\ufffdb')
  expect(show(Uint8Array.of(0x61, 0xc2))).toBe('a\ufffd')
})
