import { expect, test } from 'bun:test'
import { parseArgs } from 'node:util'
import * as fc from 'fast-check'
import type { Options } from './command.ts'
import { readTokens, type Token } from './tokens.ts'

const OPTIONS: Options = {
  chain: { value: '<name>', help: '' },
  prompt: { short: 'p', value: '<text>', help: '' },
  'dry-run': { help: '' },
  verbose: { short: 'v', help: '' },
  help: { short: 'h', help: '' },
}

/** What the runtime's own parser reads. */
function expected(args: readonly string[]): Token[] {
  const options = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, { short, value }]) => [
      name,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(short === undefined ? {} : { short }),
      },
    ]),
  )
  const { tokens } = parseArgs({ args: [...args], strict: false, tokens: true, options })
  const end = tokens.findIndex(({ kind }) => kind === 'option-terminator')
  const read = (end === -1 ? tokens : tokens.slice(0, end)).map((token): Token => {
    if (token.kind !== 'option') return { kind: 'word', value: args[token.index]! }
    const { name, rawName, value, inlineValue } = token
    return {
      kind: 'option',
      name,
      rawName,
      ...(value === undefined ? {} : { value }),
      ...(inlineValue === true ? { isInline: true } : {}),
    }
  })
  const rest = end === -1 ? undefined : args.slice(tokens[end]!.index + 1)
  return rest === undefined ? read : [...read, { kind: 'rest', words: rest }]
}

const word = fc.oneof(
  fc.constantFrom('-', '--', '-p', '-v', '-vp', '-vh', '-pv', '-pvalue', '-hx', '-x', '--chain'),
  fc.constantFrom(
    '--prompt=',
    '--prompt=a=b',
    '--dry-run',
    '--dry-run=yes',
    '--unknown',
    '--=',
    '',
  ),
  fc.constantFrom('a:3', 'VAR=x', '--chain=-v', '---', '-p=x', '-é', '--é', '-1'),
  fc.string({ maxLength: 5 }),
)

test('words are read as the parser of the runtime reads them', () => {
  // In a bundle it takes a dash for the beginning of an option, or for the end of all of them.
  const isOdd = (text: string) => /^-[^-].*-|^->|^- ?>/su.test(text)
  fc.assert(
    fc.property(fc.array(word, { maxLength: 6 }), (args) => {
      fc.pre(!args.some(isOdd))
      expect([...readTokens(args, OPTIONS)]).toEqual(expected(args))
    }),
    { numRuns: 5000 },
  )
})

test('a chain that begins with its arrow is a word', () => {
  expect([...readTokens(['->a:3'], OPTIONS)]).toEqual([{ kind: 'word', value: '->a:3' }])
})
