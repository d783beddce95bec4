import { describe, expect, test } from 'bun:test'
import { KeyParser, type Key } from './keys.ts'

function name(key: Key): string {
  return 'text' in key ? `${key.name === 'paste' ? 'paste:' : ''}${key.text}` : key.name
}

/** The keys of what was sent in one piece. */
function parse(text: string): string[] {
  const parser = new KeyParser()
  return [...parser.push(Buffer.from(text)), ...parser.flush()].map(name)
}

test.each([
  ['a>é漢👍', ['a', '>', 'é', '漢', '👍']],
  ['\u001b[A\u001b[B\u001bOC\u001bOD', ['up', 'down', 'right', 'left']],
  [
    '\u001b[1;2C\u001b[1;2D\u001b[c\u001b[d',
    ['shift-right', 'shift-left', 'shift-right', 'shift-left'],
  ],
  ['\u001b[H\u001b[F\u001b[1~\u001b[4~\u001bOH', ['home', 'end', 'home', 'end', 'home']],
  ['\u001b[5~\u001b[6~\u001b[3~\u001b[Z', ['page-up', 'page-down', 'delete', 'back-tab']],
  ['\r\n\t\b\u007f', ['enter', 'enter', 'tab', 'backspace', 'backspace']],
  ['\u0003\u001a\u0015', ['ctrl-c', 'ctrl-z', 'ctrl-u']],
  ['\u001b', ['escape']],
  ['\u001b\u001b[A', ['escape', 'up']],
  ['\u001bq', ['escape', 'q']],
  ['\u001b[15~\u001b[[A\u001b[<2;1;1M\u001b[<0;1;1m\u001bOPx', ['x']],
  ['\u001b[<0;3;2M\u001b[<64;1;1M\u001b[<65;1;1M', ['click', 'wheel-up', 'wheel-down']],
  ['\u001b[', ['escape', '[']],
  ['\u001b[200~a\u001b[A\nb\u001b[201~c', ['paste:a\u001b[A\nb', 'c']],
  ['\u001b[1\u0003', ['escape', '[', '1', 'ctrl-c']],
])('%j is %j', (text, keys) => {
  expect(parse(text)).toEqual(keys)
})

describe('terminal input', () => {
  const text = 'é\u001b[1;2C👍\u001b[200~pa\u001bsted\u001b[201~\u001bOAq'

  test('gives the same keys however it is cut', () => {
    const bytes = Buffer.from(text)
    const whole = parse(text)
    expect(whole).toEqual(['é', 'shift-right', '👍', 'paste:pa\u001bsted', 'up', 'q'])
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const parser = new KeyParser()
        const parts = [
          bytes.subarray(0, first),
          bytes.subarray(first, second),
          bytes.subarray(second),
        ]
        expect(parts.flatMap((part) => parser.push(part)).map(name)).toEqual(whole)
      }
    }
  })

  test('waits for the rest of a sequence', () => {
    const parser = new KeyParser()
    expect(parser.push(Buffer.from('\u001b['))).toEqual([])
    expect(parser.isWaiting).toBe(true)
    expect(parser.push(Buffer.from('B'))).toEqual([{ name: 'down' }])
    expect(parser.isWaiting).toBe(false)
  })

  test('is a paste until its end, however long that takes', () => {
    const parser = new KeyParser()
    expect(parser.push(Buffer.from('\u001b[200~q'))).toEqual([])
    expect(parser.isWaiting).toBe(false)
    expect(parser.flush()).toEqual([])
    expect(parser.push(Buffer.from('\u001b[201~'))).toEqual([{ name: 'paste', text: 'q' }])
  })
})
