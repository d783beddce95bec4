import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { didYouMean, nearest } from './nearest.ts'

const KEYS = ['agent', 'iterations', 'args', 'prompt', 'promptFile']

test.each([
  ['iteration', 'iterations'],
  ['itterations', 'iterations'],
  ['iteratoins', 'iterations'],
  ['ITERATIONS', 'iterations'],
  ['promtp', 'prompt'],
  ['promptfile', 'promptFile'],
  ['prompt_file', 'promptFile'],
  ['arg', 'args'],
  ['agnet', 'agent'],
])('%s most likely means %s', (word, meant) => {
  expect(nearest(word, KEYS)).toBe(meant)
})

test.each([['description'], ['xyz'], ['model'], ['agentagentagent']])(
  '%s is close to none',
  (word) => {
    expect(nearest(word, KEYS)).toBeUndefined()
  },
)

test('the first of several equally close candidates is taken', () => {
  expect(nearest('bat', ['cat', 'hat'])).toBe('cat')
})

test('without candidates there is nothing to suggest', () => {
  expect(nearest('word', [])).toBeUndefined()
})

test('the suggestion is empty if nothing is close', () => {
  expect(didYouMean('agnet', KEYS)).toBe(" (did you mean 'agent'?)")
  expect(didYouMean('xyz', KEYS)).toBe('')
})

test('one mistake in a word of three letters or more is always forgiven', () => {
  const word = fc.stringMatching(/^[a-z]{3,12}$/)
  fc.assert(
    fc.property(word, fc.nat(), (meant, seed) => {
      const at = seed % (meant.length - 1)
      const swapped = `${meant.slice(0, at)}${meant[at + 1]}${meant[at]}${meant.slice(at + 2)}`
      const doubled = `${meant.slice(0, at)}${meant[at]}${meant.slice(at)}`
      return nearest(swapped, [meant]) === meant && nearest(doubled, [meant]) === meant
    }),
  )
})

test('a known word is its own nearest', () => {
  const words = fc.array(fc.string({ minLength: 1 }), { minLength: 1 })
  fc.assert(
    fc.property(words, (candidates) => {
      const lower = candidates.map((word) => word.toLowerCase())
      const found = nearest(lower[0]!, lower)
      return found?.toLowerCase() === lower[0]!.toLowerCase()
    }),
  )
})
