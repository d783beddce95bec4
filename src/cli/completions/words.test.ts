import { expect, test } from 'bun:test'
import { assert, property, sample, string } from 'fast-check'
import { quoteValue, readWord } from './words.ts'

const values = string({ unit: 'grapheme', minLength: 1 }).filter(
  (value) => !/[\p{Cc}\p{Cs}]/u.test(value),
)

test.each(['', '"', "'"])('a value quoted after %p is read back unchanged', (open) => {
  assert(
    property(values, (value) => {
      const quoted = quoteValue(value, open)
      if (quoted !== undefined) expect(readWord(open + quoted)).toEqual({ text: value, open })
    }),
  )
})

test.each(['', '"', "'"])('bash reads a value quoted after %p unchanged', (open) => {
  const chosen = sample(values, 300).filter((value) => quoteValue(value, open) !== undefined)
  const words = chosen.map((value) => `${open}${quoteValue(value, open)}${open}`)
  const script = `printf '%s\\n' ${words.join(' ')}`
  const { stdout } = Bun.spawnSync(['/bin/bash', '-c', script], { env: { LC_ALL: 'C.UTF-8' } })
  expect(stdout.toString().split('\n').slice(0, -1)).toEqual(chosen)
})

const typed: readonly (readonly [string, string, string])[] = [
  ['two\\ words', 'two words', ''],
  ['"two words"', 'two words', ''],
  ['"two wo', 'two wo', '"'],
  ["--label='a \\", '--label=a \\', "'"],
  ['"\\$x \\y"', '$x \\y', ''],
  ['$(touch x)`y`', '$(touch x)`y`', ''],
  ['end\\', 'end', ''],
]

test.each(typed)('%p means %p, with %p open', (raw, text, open) => {
  expect(readWord(raw)).toEqual({ text, open })
})

test('a value that cannot be quoted is not offered', () => {
  expect(quoteValue("it's", "'")).toBeUndefined()
  expect(quoteValue('now!', '"')).toBeUndefined()
  expect(quoteValue('now!', '')).toBe('now\\!')
})
