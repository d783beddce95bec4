import { expect, test } from 'bun:test'
import { MarkerScanner } from '../../engines/marker/marker.ts'
import { composeSystemPrompt, MODE_AWARENESS_PREFIX } from './system-prompt.ts'

const CUTS = [1, 2, 3, 7, 10_000]

function completes(text: string, size: number): boolean {
  const scanner = new MarkerScanner()
  const bytes = Buffer.from(text)
  const facts = []
  for (let from = 0; from < bytes.length; from += size) {
    facts.push(...scanner.push(bytes.subarray(from, from + size)))
  }
  return [...facts, ...scanner.end()].some(({ type }) => type === 'marker')
}

const lines = MODE_AWARENESS_PREFIX.split('\n')

test.each([
  ['as it is', MODE_AWARENESS_PREFIX],
  ['in front of a system prompt', composeSystemPrompt('You plan.\n')],
  ['in capitals', MODE_AWARENESS_PREFIX.toUpperCase()],
  ['with Windows line ends', lines.join('\r\n')],
  ['quoted', lines.map((line) => `> ${line}`).join('\n')],
  ['indented', lines.map((line) => `    ${line}`).join('\n')],
  ['in a fence that is never closed', `\`\`\`\n${MODE_AWARENESS_PREFIX}`],
])('an agent that echoes its instructions %s does not complete its step', (_, echo) => {
  for (const size of CUTS) expect(completes(echo, size)).toBe(false)
})

test('an agent that obeys the instructions completes its step', () => {
  for (const size of CUTS) {
    expect(completes(`${MODE_AWARENESS_PREFIX}\nORCHESTRA_COMPLETE\n`, size)).toBe(true)
  }
})
