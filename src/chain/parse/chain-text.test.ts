import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../../base/errors.ts'
import { parseChain, type ParsedItem } from './chain-text.ts'

const nobody = () => false

function refusal(text: string): UserError {
  try {
    parseChain(text, nobody)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error(`'${text}' was not refused`)
}

const a: ParsedItem = { agent: 'a' }
const b: ParsedItem = { agent: 'b' }
const c: ParsedItem = { agent: 'c' }

test.each<[string, ParsedItem[]]>([
  ['a', [a]],
  [
    'a:3 -> b:10',
    [
      { agent: 'a', iterations: 3 },
      { agent: 'b', iterations: 10 },
    ],
  ],
  ['a->b', [a, b]],
  ['a & b & c:2', [{ parallel: [a, b, { agent: 'c', iterations: 2 }] }]],
  ['a||b', [{ fallback: [a, b] }]],
  ['a:20*4', [{ agent: 'a', iterations: 20, copies: 4 }]],
  ['a : 20 * 4', [{ agent: 'a', iterations: 20, copies: 4 }]],
  ['(a -> b):3', [{ sequence: [a, b], iterations: 3 }]],
  ['( a -> b ) : 3 * 2', [{ sequence: [a, b], iterations: 3, copies: 2 }]],
  ['(a & b):3*2', [{ sequence: [{ parallel: [a, b] }], iterations: 3, copies: 2 }]],
  ['(a & b)*2', [{ parallel: [a, b], copies: 2 }]],
  ['(a)*4', [{ sequence: [a], copies: 4 }]],
  ['((a))', [a]],
  ['(a -> b) -> c', [{ sequence: [a, b] }, c]],
  ['@review:2*3 -> b', [{ chain: 'review', iterations: 2, copies: 3 }, b]],
  ['fk:builder:3*2', [{ agent: 'fk:builder', iterations: 3, copies: 2 }]],
  [
    'a:3 -> (b:20*4 -> c:1):3 -> (a & b)',
    [
      { agent: 'a', iterations: 3 },
      {
        sequence: [
          { agent: 'b', iterations: 20, copies: 4 },
          { agent: 'c', iterations: 1 },
        ],
        iterations: 3,
      },
      { parallel: [a, b] },
    ],
  ],
])('%p is parsed', (text, items) => {
  expect(parseChain(text, nobody)).toEqual(items)
})

test('signs belong to a name if an agent has exactly that name', () => {
  const isAgent = (name: string) => ['a*4', '@b', 'x:y'].includes(name)
  expect(parseChain('a*4 -> @b -> x:y', isAgent)).toEqual([
    { agent: 'a*4' },
    { agent: '@b' },
    { agent: 'x:y' },
  ])
})

test.each([
  ['(a -> b', "This '(' is never closed.", '^'],
  ['a)', "Unmatched ')'.", ' ^'],
  ['()', 'The parentheses are empty.', ' ^'],
  ['(a ->)', "Missing agent after '->'.", '   ^^'],
  ['a -> -> b', "Missing agent before '->'.", '     ^^'],
  ['a & || b', "Missing agent before '||'.", '    ^^'],
  ['a | b', "Fallback agents are joined with '||'.", '  ^'],
  ['a*1', "The number of copies after '*' must be from 2 to 64.", ' ^^'],
  ['a*65', "The number of copies after '*' must be from 2 to 64.", ' ^^^'],
  ['a*', "The number of copies after '*' must be from 2 to 64.", ' ^'],
  ['a*4:3', 'Write the counts of an item as :N*K, each at most once.', '^^^^^'],
  ['(a):3:4', 'Write the counts of an item as :N*K, each at most once.', '     ^^'],
  ['(a)*4:3', 'Write the counts of an item as :N*K, each at most once.', '     ^^'],
  ['a:2*3*4', 'Write the counts of an item as :N*K, each at most once.', '^^^^^^^'],
  ['*4', "Missing agent before '*4'.", '^^'],
  ['@', "Missing chain name after '@'.", '^'],
  ['(a):0', "The count '0' is not a whole number from 1 to 100000.", '    ^'],
  ['a b', "Missing '->' before 'b'.", '  ^'],
])('%p is refused with a caret under the place', (text, problem, carets) => {
  expect(refusal(text).message).toBe(`${problem}\n  ${text}\n  ${carets}`)
})

test.each([
  ['./a*4:3', 'Use: ./a:3*4'],
  ['./a:3*x', 'For example: builder:20*4 for four builders in parallel.'],
  ['a:3 | b | c || d', 'Use: a:3 || b || c || d'],
  ['a | b', 'Use: a || b'],
  ['(a):0', 'Use (…):N for at most N rounds (1 to 100000), or (…) to run it once.'],
  ['a :0', 'Use a:N for at most N iterations (1 to 100000), or a to run it once.'],
])('the hint for %p says what to type', (text, hint) => {
  expect(refusal(text).hint).toBe(hint)
})

test.each([
  ['a -> b & c', 'a -> (b & c)', '(a -> b) & c'],
  ['a -> b & c -> d', 'a -> (b & c) -> d', '(a -> b) & (c -> d)'],
  ['a -> b & c || d', 'a -> (b & (c || d))', '(a -> b) & (c || d)'],
  ['a || b -> c & d', 'a || (b -> (c & d))', '(a || b) -> (c & d)'],
  ['a & b -> (c || d)', 'a & (b -> (c || d))', '(a & b) -> (c || d)'],
  ['(a || b & c):3 -> d', 'a || (b & c)', '(a || b) & c'],
])('%p is refused with both ways to put the parentheses', (text, first, second) => {
  const { message, hint } = refusal(text)
  expect(message).toContain('cannot be mixed without parentheses.\n')
  expect(hint).toBe(`Use: ${first}\n   or: ${second}`)
  for (const way of [first, second]) expect(parseChain(way, nobody)).toBeArray()
})

test('a printed chain parses to the same chain', () => {
  const iterations = fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined })
  const copies = fc.option(fc.integer({ min: 2, max: 64 }), { nil: undefined })
  const counts = fc.record({ iterations, copies })
  const agent = fc.record({ agent: fc.constantFrom('a', 'b-c', './x', 'fk:d'), counts })
  const { chain } = fc.letrec<{ chain: Item[]; item: Item }>((tie) => ({
    item: fc.oneof({ maxDepth: 3 }, agent, fc.record({ of: tie('chain'), sign: SIGN, counts })),
    chain: fc.array(tie('item'), { minLength: 2, maxLength: 3 }),
  }))
  fc.assert(
    fc.property(chain, (items) => {
      const text = items.map(print).join(' -> ')
      expect(parseChain(text, nobody)).toEqual(items.map(expected))
    }),
  )
})

interface Counts {
  readonly iterations: number | undefined
  readonly copies: number | undefined
}
type Sign = '->' | '&' | '||'
type Item =
  | { readonly agent: string; readonly counts: Counts }
  | { readonly of: readonly Item[]; readonly sign: Sign; readonly counts: Counts }

const SIGN = fc.constantFrom<Sign[]>('->', '&', '||')

function print(item: Item): string {
  const { iterations, copies } = item.counts
  // Without a count, the last part of a name with a colon would be taken for one.
  const loop = iterations ?? ('agent' in item && item.agent.includes(':') ? 1 : undefined)
  const suffix = `${loop === undefined ? '' : `:${loop}`}${copies === undefined ? '' : `*${copies}`}`
  return 'agent' in item
    ? `${item.agent}${suffix}`
    : `(${item.of.map(print).join(` ${item.sign} `)})${suffix}`
}

function expected(item: Item): ParsedItem {
  const { copies } = item.counts
  const iterations =
    item.counts.iterations ?? ('agent' in item && item.agent.includes(':') ? 1 : undefined)
  const counts = {
    ...(iterations === undefined ? {} : { iterations }),
    ...(copies === undefined ? {} : { copies }),
  }
  if ('agent' in item) return { agent: item.agent, ...counts }
  const of = item.of.map(expected)
  if (item.sign === '->') return { sequence: of, ...counts }
  const group = item.sign === '&' ? { parallel: of } : { fallback: of }
  return iterations === undefined ? { ...group, ...counts } : { sequence: [group], ...counts }
}

test('any text gives a chain or a user error', () => {
  const piece = fc.constantFrom('a', ':', '3', '->', '-', '*', '&', '||', '(', ')', ' ', '@', '日')
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      try {
        return parseChain(pieces.join(''), nobody).length > 0
      } catch (error) {
        return error instanceof UserError && error.exitCode === 2
      }
    }),
    { numRuns: 3000 },
  )
})
