import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { HeadAndTail } from './head-and-tail.ts'

function kept(chunks: readonly (string | Uint8Array)[], head = 20, tail = 20): string {
  const output = new HeadAndTail(head, tail)
  for (const chunk of chunks) output.add(Buffer.from(chunk))
  return output.text
}

const CASES: readonly (readonly [string, readonly (string | Uint8Array)[], string])[] = [
  ['nothing', [], ''],
  ['a short output', ['a\n', 'b\n'], 'a\nb'],
  ['as much as fits', ['x'.repeat(40)], 'x'.repeat(40)],
  [
    'long lines',
    ['one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n'],
    'one\ntwo\nthree\nfour\n[… about 17 bytes of 49 bytes left out …]\neight\nnine\nten',
  ],
  [
    'words without a line end',
    ['aaaa bbbb cccc dddd eeee ffff gggg hhhh iiii jjjj'],
    'aaaa bbbb cccc dddd\n[… about 11 bytes of 49 bytes left out …]\ngggg hhhh iiii jjjj',
  ],
  ['colours', ['\u001b[31mred\u001b[0m\n'], 'red'],
  ['a progress bar', ['10%\r50%\r100%\ndone\r\n'], '100%\ndone'],
  ['control characters', ['a\0b\bc\n'], 'a b c'],
  ['a character in two chunks', [Buffer.from([0xe6, 0x97]), Buffer.from([0xa5])], '日'],
  ['invalid UTF-8', [Buffer.from([0x61, 0xff, 0x62])], 'a\uFFFDb'],
]

test.each(CASES)('%s', (_, chunks, text) => {
  expect(kept(chunks)).toBe(text)
})

test('no character is cut in two', () => {
  const text = fc.array(fc.constantFrom('é', '日', '🙂', 'a', ' ', '\n'), { maxLength: 80 })
  fc.assert(
    fc.property(
      text,
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 30 }),
      (parts, head, tail) => {
        expect(kept([parts.join('')], head, tail)).not.toContain('\uFFFD')
      },
    ),
  )
})

test('the size of chunks does not matter', () => {
  const chunks = fc.array(fc.string({ maxLength: 30 }), { maxLength: 20 })
  fc.assert(fc.property(chunks, (parts) => expect(kept(parts)).toBe(kept([parts.join('')]))))
})

test('endless output needs little memory', () => {
  const output = new HeadAndTail(10_000, 10_000)
  const chunk = Buffer.from('0123456789abcdef\n'.repeat(4000))
  const before = process.memoryUsage.rss()
  for (let n = 0; n < 30_000; n++) output.add(chunk)
  // A part of the output, because nobody knows when memory is collected.
  expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 ** 2)
  expect(output.text).toContain('[… about 1945.5 MiB of 1945.5 MiB left out …]')
})
