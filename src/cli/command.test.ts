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

describe('positional arguments', () => {
  test.each([
    [['a:3 -> b', 'VAR=x=y']],
    [['-']],
    [['']],
    [['a:-1']],
    [['-> a']],
    [['->', 'a']],
    [['->a:-3']],
    [['VAR=--verbose']],
  ])('are passed on unchanged: %j', (words) => {
    expect(parse(...words).positionals).toEqual(words)
  })

  test('may come before, between or after options', () => {
    const input = parse('a', '-v', 'b', '--chain', 'c', 'd')
    expect(input.positionals).toEqual(['a', 'b', 'd'])
  })
})

test('a command without positional arguments refuses the first one', () => {
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
    [['-p=text'], 'text'],
    [['-p='], ''],
    [['-vp', 'text'], 'text'],
    [['-p', '- a list\n- of two'], '- a list\n- of two'],
    [['-p', '-> x'], '-> x'],
  ])('is read from %j', (args, value) => {
    const input = parse(...args)
    expect(input.text('prompt')).toBe(value)
    expect(input.positionals).toEqual([])
  })

  test('is undefined if not given, and is not a flag', () => {
    expect(parse('a').text('prompt')).toBeUndefined()
    expect(parse('-p', 'x').flag('prompt')).toBe(false)
  })

  test.each([
    [['a', '-p'], 'Option -p needs a value: -p <text>'],
    [['--chain'], 'Option --chain needs a value: --chain <name>'],
  ])('without a value is refused: %j', (args, message) => {
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
])('arguments after the first -- of %j are not parsed', (args, rest) => {
  expect(parse(...args).rest).toEqual(rest)
})

test.each([
  ['--dryrun', 'Unknown option --dryrun (did you mean --dry-run?)'],
  ['--verbos=1', 'Unknown option --verbos (did you mean --verbose?)'],
  ['--promt', 'Unknown option --promt (did you mean --prompt?)'],
  ['--verb', 'Unknown option --verb (did you mean --verbose?)'],
  ['--nonsense', 'Unknown option --nonsense'],
  ['-x', 'Unknown option -x'],
  ['-vx', 'Unknown option -x'],
  ['-v-x', 'Unknown option --'],
  ['-verbose', 'Unknown option -verbose (did you mean --verbose?)'],
  ['--__proto__', 'Unknown option --__proto__'],
  ['--constructor', 'Unknown option --constructor'],
])('%s is refused', (word, message) => {
  expect(refusal('a', word).message).toBe(message)
})

test('if no option is similar, the hint lists all options', () => {
  expect(refusal('--nonsense').hint).toBe(
    'Known options: --chain, --prompt, --dry-run, --verbose, --color, --help.',
  )
})

test('any arguments are parsed or refused, and those after -- are kept', () => {
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
        // Without the word in between, a last option could take -- as its value.
        expect(parse(...before, 'end', '--', ...rest).rest).toEqual(rest)
      } catch (error) {
        if (!(error instanceof UserError)) throw error
      }
    }),
  )
})
