import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Decoder } from '../engine.ts'
import { MarkerScanner, StderrScanner } from './marker.ts'

const MARKER = 'ORCHESTRA_COMPLETE'
const CHUNK_SIZES = [1, 2, 3, 7, 10_000]

function read(decoder: Decoder, chunks: readonly Uint8Array[]): string[] {
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.end()].map((fact) =>
    fact.type === 'marker_refused' ? fact.why : fact.type,
  )
}

function chunksOf(text: string, size: number): Uint8Array[] {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / size)
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

/** The facts, which must not depend on how the text is cut. */
function verdict(text: string): string {
  const verdicts = CHUNK_SIZES.map((size) => read(new MarkerScanner(), chunksOf(text, size)))
  for (const each of verdicts) expect(each).toEqual(verdicts[0]!)
  return verdicts[0]!.join(' ')
}

describe('a whole line counts', () => {
  test.each([
    ['bare', `${MARKER}\n`],
    ['with the other name', 'FORKHESTRA_COMPLETE\n'],
    ['without a final newline', MARKER],
    ['with a Windows line end', `${MARKER}\r\n`],
    ['between other lines', `before\n${MARKER}\nafter`],
    ['with surrounding space', ` \t ${MARKER} \t\n`],
    ['deeply indented', `        ${MARKER}\n`],
    ['after empty lines', `\n\n${MARKER}\n`],
    ['in bold', `**${MARKER}**\n`],
    ['in bold with underscores', `__${MARKER}__\n`],
    ['in a code span', `\`${MARKER}\`\n`],
    ['in a code span of three backticks', `\`\`\`${MARKER}\`\`\`\n`],
    ['in bold and a code span', `**\`${MARKER}\`**\n`],
    ['in colour', `\u001b[1;32m${MARKER}\u001b[0m\n`],
    ['in colour and bold', `\u001b[32m**${MARKER}**\u001b[0m\r\n`],
    ['after a byte order mark', `\uFEFF${MARKER}\n`],
    ['after a line of a megabyte', `${'x'.repeat(1024 ** 2)}\n${MARKER}\n`],
  ])('%s', (_, text) => {
    expect(verdict(text)).toBe('marker')
  })

  test('and later text does not undo it', () => {
    expect(verdict(`${MARKER}\nI was wrong, there is more to do\n`)).toBe('marker')
  })

  test('only once, however often it is repeated', () => {
    expect(verdict(`${MARKER}\n${MARKER}\n${MARKER}`)).toBe('marker')
  })

  test('as soon as its line has ended', () => {
    const scanner = new MarkerScanner()
    expect(scanner.push(Buffer.from(MARKER))).toEqual([])
    expect(scanner.push(Buffer.from('\n'))).toEqual([{ type: 'marker' }])
    expect(scanner.push(Buffer.from(`${MARKER}\n`))).toEqual([])
    expect(scanner.end()).toEqual([])
  })
})

test.each([
  ['longer_line', `I will not print ${MARKER} yet\n`],
  ['longer_line', `Done. ${MARKER}\n`],
  ['longer_line', `${MARKER}.\n`],
  ['longer_line', `- ${MARKER}\n`],
  ['longer_line', `> ${MARKER}\n`],
  ['longer_line', `**${MARKER}\n`],
  ['longer_line', `*${MARKER}*\n`],
  ['longer_line', `**Done: ${MARKER}**\n`],
  ['longer_line', `${MARKER} ${MARKER}\n`],
  ['longer_line', `${MARKER}\rDone\n`],
  ['longer_line', `\`\`\`\r${MARKER}\r\`\`\`\n`],
  ['longer_line', `\`\`\`\r${MARKER}\n\`\`\`\n`],
  ['longer_line', `${'x'.repeat(10_000)} ${MARKER}\n`],
  ['longer_line', `${MARKER} ${'x'.repeat(10_000)}\n`],
  ['quotes', `"${MARKER}"\n`],
  ['quotes', `'${MARKER}'\n`],
  ['quotes', `“${MARKER}”\n`],
  ['quotes', `«${MARKER}»\n`],
  ['letter_case', 'orchestra_complete\n'],
  ['letter_case', '**forkhestra_complete**\n'],
  ['code_fence', `\`\`\`\n${MARKER}\n\`\`\`\n`],
])('it is refused as %s: %j', (why, text) => {
  expect(verdict(text)).toBe(why)
})

test('a long line that starts with the marker does not count', () => {
  expect(verdict(`${MARKER}${' '.repeat(5000)}is what I will print later\n`)).not.toBe('marker')
})

test.each([
  ['nothing at all', ''],
  ['only newlines', '\n\n\n'],
  ['parts of the word', 'ORCHESTRA\n_COMPLETE\nCOMPLETE\nORCHESTRA COMPLETE\n'],
  ['other words', 'ORCHESTRA-COMPLETE\nOrchestra complete\n'],
])('%s is neither a marker nor a refusal', (_, text) => {
  expect(verdict(text)).toBe('')
})

describe('a code fence', () => {
  test.each([
    ['of backticks', '```\nM\n```\n'],
    ['of tildes', '~~~\nM\n~~~\n'],
    ['with an info string', '```text\nM\n```\n'],
    ['of tildes with backticks in the info string', '~~~ `x`\nM\n~~~\n'],
    ['that ends with the output', '```\nM\n```'],
    ['with Windows line ends', '```\r\nM\r\n```\r\n'],
    ['that begins after a bare return', 'text\r```\nM\n```\n'],
    ['that ends before a bare return', '```\nM\n```\rtext\n'],
    ['closed by a longer one', '```\nM\n`````\n'],
    ['closed with trailing space', '```\nM\n```  \t\n'],
    ['closed three columns deep', '```\nM\n   ```\n'],
    ['that begins three columns deep', '   ```\nM\n```\n'],
    ['in a list', '1. Say this:\n\n    ```\n    M\n    ```\n'],
    ['in colour', '\u001b[2m```\u001b[0m\nM\n\u001b[2m```\u001b[0m\n'],
    ['with a shorter one inside', '````\n```\nM\n```\n````\n'],
    ['with the other kind inside', '```\n~~~\nM\n```\n'],
    ['with an info string inside', '```\n```js\nM\n```\n'],
    ['that begins in a list item', '- ```\n  M\n  ```\n'],
    ['that begins in a numbered item', '10. ~~~ text\n    M\n    ~~~\n'],
    ['in a list that ends before the fence', '-   ```\n    M\n\ntext\n```\ncode\n```\n'],
    ['after a list whose fence was never closed', '1. x\n    ```\n    a\ntext\n```\nM\n```\n'],
    ['in a list after a blank line', '- x\n  ```\n\n  M\n  ```\n'],
    ['closed late', `\`\`\`\nM\n${'text\n'.repeat(5000)}\`\`\`\n`],
  ])('%s hides the marker', (_, text) => {
    expect(verdict(text.replace('M', MARKER))).toBe('code_fence')
  })

  test.each([
    ['is never closed', '```\nM\n'],
    ['is only closed by a shorter one', '````\nM\n```\n'],
    ['is only closed by the other kind', '```\nM\n~~~\n'],
    ['is only closed with text after it', '```\nM\n``` done\n'],
    ['is only closed four columns deep', '```\nM\n    ```\n'],
    ['is only closed a tab deep', '```\nM\n\t```\n'],
    ['was closed before', '```\ncode\n```\nM\n'],
    ['begins after it', 'M\n```\ncode\n```\n'],
    ['is a code span on one line', '```code```\nM\n```code```\n'],
    ['has only two backticks', '``\nM\n``\n'],
    ['was ended by a line of prose', '- x\n    ```\n    y\nDone with the list.\n    M\n    ```\n'],
    ['ended with its list item', '- ```\nM\n- ```\n'],
    ['ended with its list', '1. x\n    ```\nM\n    ```\n'],
  ])('does not hide the marker if it %s', (_, text) => {
    expect(verdict(text.replace('M', MARKER))).toBe('marker')
  })

  test('that is open keeps the marker pending until the end', () => {
    const scanner = new MarkerScanner()
    expect(scanner.push(Buffer.from(`\`\`\`\n${MARKER}\n`))).toEqual([])
    expect(scanner.end()).toEqual([{ type: 'marker', isInOpenFence: true }])
  })

  test('that hid a marker does not affect a later one', () => {
    expect(verdict(`\`\`\`\n${MARKER}\n\`\`\`\n${MARKER}\n`)).toBe('marker code_fence')
  })

  test('with colours inside its backticks is not a fence, whatever the chunk size', () => {
    expect(verdict(`\`\u001b[2m\`\`\u001b[0m\n${MARKER}\n\`\`\`\n`)).toBe('marker')
  })
})

test('of several refusals the most specific one is reported, once', () => {
  const prose = `I will print ${MARKER} later\n`
  expect(verdict(`${prose}${prose}`)).toBe('longer_line')
  expect(verdict(`${prose}"${MARKER}"\n${prose}orchestra_complete\n`)).toBe('quotes')
})

describe('without its line end', () => {
  const isDone = (text: string) =>
    CHUNK_SIZES.map((size) => {
      const scanner = new MarkerScanner()
      for (const chunk of chunksOf(text, size)) scanner.push(chunk)
      return scanner.isDoneIfSilent
    })

  test.each([
    [MARKER],
    ['FORKHESTRA_COMPLETE'],
    [`before\n  **${MARKER}** `],
    [`\u001b[32m${MARKER}\u001b[0m`],
    [`${MARKER}\r`],
    [`\`\`\`\ncode\n\`\`\`\n${MARKER}`],
  ])('%j is the marker if nothing follows', (text) => {
    expect(new Set(isDone(text))).toEqual(new Set([true]))
  })

  test.each([
    [''],
    ['text'],
    [MARKER.slice(0, -1)],
    [`${MARKER} is what I say later`],
    [`"${MARKER}"`],
    [`\`\`\`\n${MARKER}`],
    [`${MARKER}${' '.repeat(300)}`],
    [`${MARKER}\n`],
    [`${MARKER}\n${MARKER}`],
  ])('%j is not the marker', (text) => {
    expect(new Set(isDone(text))).toEqual(new Set([false]))
  })

  test('later text may revoke it', () => {
    const scanner = new MarkerScanner()
    scanner.push(Buffer.from(MARKER))
    expect(scanner.isDoneIfSilent).toBe(true)
    expect(scanner.push(Buffer.from(' is near\n'))).toEqual([])
    expect(scanner.isDoneIfSilent).toBe(false)
    expect(scanner.end()).toEqual([{ type: 'marker_refused', why: 'longer_line' }])
  })
})

describe('on stderr', () => {
  const onStderr = (text: string) =>
    CHUNK_SIZES.map((size) => read(new StderrScanner(), chunksOf(text, size)).join(' '))

  test.each([[`${MARKER}\n`], [MARKER], [`\`\`\`\n${MARKER}`]])('%j is refused', (text) => {
    expect(new Set(onStderr(text))).toEqual(new Set(['stderr']))
  })

  test.each([[''], [`prose about ${MARKER}\n`], ['error\n']])('%j is not mentioned', (text) => {
    expect(new Set(onStderr(text))).toEqual(new Set(['']))
  })
})

const WORDS = [MARKER, 'FORKHESTRA_COMPLETE', 'orchestra_complete', 'ORCH', 'ESTRA_COMPLETE']
const SIGNS = ['- ', '**', '`', '```', '````', '~~~', '"', ' ', '    ', '\t', '\n', '\r\n']
const LETTERS = ['é', '日本', 'x', 'x\u001b[0m', '\u001b[1m**', 'x'.repeat(4090), ' '.repeat(4096)]

test('the result does not depend on how random text is cut', () => {
  const text = fc
    .array(fc.constantFrom(...WORDS, ...SIGNS, ...LETTERS), { maxLength: 40 })
    .map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(text, fc.array(fc.integer({ min: 0, max: 300 })), (each, lengths) => {
      const bytes = Buffer.from(each)
      const chunks: Uint8Array[] = []
      let from = 0
      for (const length of lengths) chunks.push(bytes.subarray(from, (from += length)))
      chunks.push(bytes.subarray(from))
      expect(read(new MarkerScanner(), chunks)).toEqual(read(new MarkerScanner(), [bytes]))
    }),
    { numRuns: 2000 },
  )
})

test('random bytes never contain the marker', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 })), (chunks) => {
      return !read(new MarkerScanner(), chunks).includes('marker')
    }),
  )
})
