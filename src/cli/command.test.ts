import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { UserError } from '../base/errors.ts'
import { parseInput, UsageError, type Command } from './command.ts'

const COMMAND: Command = {
  summary: '',
  usage: [],
  examples: [],
  options: {
    chain: { value: '<name>', help: '' },
    prompt: { short: 'p', value: '<text>', help: '' },
    'dry-run': { help: '' },
    verbose: { short: 'v', help: '' },
  },
  run: () => Promise.resolve(0),
}

const parse = (...args: string[]) => parseInput(args, COMMAND)

function refusal(...args: string[]): UsageError {
  try {
    parse(...args)
  } catch (error) {
    if (error instanceof UsageError) return error
    throw error
  }
  throw new Error('was not refused')
}

describe('what is not an option', () => {
  test.each([
    [['a:3 -> b', 'VAR=x=y']],
    [['-']],
    [['']],
    [['a:-1']],
    [['-> a']],
    [['->', 'a']],
    [['->a:-3']],
    [['VAR=--verbose']],
  ])('%j is passed on word by word', (words) => {
    expect(parse(...words).positionals).toEqual(words)
  })

  test('may stand before, between and behind options', () => {
    const input = parse('a', '-v', 'b', '--chain', 'c', 'd')
    expect(input.positionals).toEqual(['a', 'b', 'd'])
  })
})

test('a command that takes no words refuses the first one', () => {
  const command = { ...COMMAND, words: [] }
  expect(() => parseInput(['-v', 'x', 'y'], command)).toThrow("Unexpected argument 'x'.")
  expect(() => parseInput(['-v', '--', 'x'], command)).toThrow("Unexpected argument 'x'.")
})

describe('an option with a value', () => {
  test.each([
    [['--prompt', 'text'], 'text'],
    [['--prompt=text'], 'text'],
    [['--prompt=a=b'], 'a=b'],
    [['--prompt='], ''],
    [['--prompt', ''], ''],
    [['-p', 'text'], 'text'],
    [['-ptext'], 'text'],
    [['-vp', 'text'], 'text'],
    [['-p', '- a list\n- of two'], '- a list\n- of two'],
    [['-p', '-> x'], '-> x'],
  ])('is read from %j', (args, value) => {
    const input = parse(...args)
    expect(input.text('prompt')).toBe(value)
    expect(input.positionals).toEqual([])
  })

  test('is absent where it was not given, and is no flag', () => {
    expect(parse('a').text('prompt')).toBeUndefined()
    expect(parse('-p', 'x').flag('prompt')).toBe(false)
  })

  test.each([
    [['a', '-p'], 'Option -p needs a value: -p <text>'],
    [['--chain'], 'Option --chain needs a value: --chain <name>'],
  ])('is demanded: %j', (args, message) => {
    expect(refusal(...args).message).toBe(message)
  })
})

describe('a flag', () => {
  test.each([[['-v']], [['--verbose']], [['-vh']], [['a', '-v', '--dry-run']]])(
    'is set by %j',
    (args) => {
      expect(parse(...args).flag('verbose')).toBe(true)
      expect(parse(...args).text('verbose')).toBeUndefined()
    },
  )

  test('is not set otherwise', () => {
    expect(parse('verbose', '--', '-v', '--verbose').flag('verbose')).toBe(false)
  })

  test('takes no value', () => {
    expect(refusal('--dry-run=yes').message).toBe("Option --dry-run takes no value, got 'yes'.")
  })

  test.each([['-h'], ['--help']])('%s is known to every command', (word) => {
    expect(parseInput([word], { ...COMMAND, options: {} }).flag('help')).toBe(true)
  })
})

test.each([
  [
    ['a', '--', '-v', '--', 'x'],
    ['-v', '--', 'x'],
  ],
  [
    ['--', '--unknown', ''],
    ['--unknown', ''],
  ],
  [['a', '--'], []],
  [['a'], []],
])('behind the first -- of %j nothing is looked at', (args, rest) => {
  expect(parse(...args).rest).toEqual(rest)
})

test.each([
  ['--dryrun', 'Unknown option --dryrun, did you mean --dry-run?'],
  ['--verbos=1', 'Unknown option --verbos, did you mean --verbose?'],
  ['--promt', 'Unknown option --promt, did you mean --prompt?'],
  ['--nonsense', 'Unknown option --nonsense'],
  ['-x', 'Unknown option -x'],
  ['-vx', 'Unknown option -x'],
  ['-v-x', 'Unknown option --'],
  ['-verbose', 'Unknown option -verbose, did you mean --verbose?'],
  ['--__proto__', 'Unknown option --__proto__'],
  ['--constructor', 'Unknown option --constructor'],
])('%s is refused', (word, message) => {
  expect(refusal('a', word).message).toBe(message)
})

test('where nothing is close all options are named', () => {
  expect(refusal('--nonsense').hint).toBe(
    'Known options: --chain, --prompt, --dry-run, --verbose, --help.',
  )
})

test('whatever is typed is read or refused, and what stands behind -- is kept', () => {
  const word = fc.oneof(
    fc.constantFrom(
      '-v',
      '-p',
      '--chain',
      '--chain=x',
      '->',
      '-> a',
      '-',
      '---',
      '--=',
      'a',
      '-vp',
    ),
    fc.string(),
  )
  const words = fc.array(word.filter((each) => each !== '--'))
  fc.assert(
    fc.property(words, fc.array(word), (before, rest) => {
      try {
        // The word in between keeps a last option from taking the -- for its value.
        expect(parse(...before, 'end', '--', ...rest).rest).toEqual(rest)
      } catch (error) {
        if (!(error instanceof UserError)) throw error
      }
    }),
  )
})
