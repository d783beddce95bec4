import { expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { parseInput } from './command.ts'
import { runCommand } from './commands/run.ts'
import { readOverrides } from './overrides.ts'

const read = (args: readonly string[]) => readOverrides(parseInput(args, runCommand))

test('without options there is nothing to override', () => {
  expect(read(['a:3'])).toEqual({ budget: {} })
})

test('every option is read', () => {
  const args =
    'a --max-cost $2.50 --max-tokens 1000 --max-duration 1h30m --timeout 90s --idle-timeout off --stall 0 --max-parallel 3'
  const commands = ['--verify', 'npm test', '--verify=npm run lint', '--until', 'test -f x']
  expect(read([...args.split(' '), ...commands])).toEqual({
    budget: { costUsd: 2.5, tokens: 1000, ms: 5_400_000 },
    timeoutMs: 90_000,
    idleMs: 'off',
    stall: 0,
    verify: ['npm test', 'npm run lint'],
    until: 'test -f x',
    maxParallel: 3,
  })
})

const ALL = { on: ['end', 'wait', 'blocked', 'budget'], minWaitMs: 600_000 }

test.each([
  [
    ['desktop', 'bell'],
    [
      { to: 'desktop', ...ALL },
      { to: 'bell', ...ALL },
    ],
  ],
  [['https://ntfy.sh/x'], [{ url: 'https://ntfy.sh/x', ...ALL }]],
  [['env:SLACK_URL'], [{ urlEnv: 'SLACK_URL', ...ALL }]],
  [['mail -s done me'], [{ command: 'mail -s done me', ...ALL }]],
  [['off'], []],
])('--notify %j is read', (words, notify) => {
  expect(read(words.map((word) => `--notify=${word}`))).toEqual({ budget: {}, notify } as never)
})

test.each([
  [['dekstop'], "--notify is 'dekstop' (did you mean 'desktop'?)."],
  [['off', 'bell'], "--notify is 'off'."],
  [[' '], "--notify is ' '."],
  [['ntfy.sh/secret'], '--notify is not a valid URL or variable.'],
  [['htps://ntfy.sh/secret'], '--notify is not a valid URL or variable.'],
  [['env:A-B'], '--notify is not a valid URL or variable.'],
])('--notify %j is refused', (words, problem) => {
  expect(refusal(words.map((word) => `--notify=${word}`))).toStartWith(`${problem} / Use desktop,`)
})

const COST =
  'expected an amount in US dollars greater than 0. / For example: --max-cost 5, or --max-cost 2.50'

test.each([
  ['--max-cost', '0', COST],
  ['--max-cost', '0.00', COST],
  ['--max-cost', '-5', COST],
  ['--max-cost', 'five', COST],
  ['--max-cost', '1e3', COST],
  [
    '--max-duration',
    '0s',
    'expected a duration greater than zero. / For example: --max-duration 8h',
  ],
  ['--max-duration', 'off', 'expected a duration. / For example: 90s, 30m, 2h or 1h30m.'],
  ['--timeout', '30', 'expected a duration. / For example: 90s, 30m, 2h or 1h30m.'],
  ['--timeout', '0s', 'expected a duration greater than zero. / For example: --timeout 30m'],
  [
    '--idle-timeout',
    '0m',
    'expected a duration greater than zero. / For example: --idle-timeout 30m',
  ],
])('%s %s is refused', (option, value, words) => {
  expect(refusal([`${option}=${value}`])).toBe(`${option} is '${value}', ${words}`)
})

test.each([
  ['--max-tokens', '0', 1, '--max-tokens 2000000'],
  ['--max-tokens', '1.5', 1, '--max-tokens 2000000'],
  ['--max-tokens', '9'.repeat(20), 1, '--max-tokens 2000000'],
  ['--stall', '-1', 0, '--stall 3, or --stall 0 for no limit'],
  ['--stall', '', 0, '--stall 3, or --stall 0 for no limit'],
])('the count %s %s is refused', (option, value, least, example) => {
  expect(refusal([`${option}=${value}`])).toBe(
    `${option} is "${value}", expected a whole number of at least ${least}. / For example: ${example}`,
  )
})

test.each(['verify', 'until'])('an empty command for --%s is refused', (option) => {
  expect(refusal([`--${option}`, ' '])).toStartWith(`The command for --${option} is empty.`)
})

function refusal(args: readonly string[]): string {
  try {
    read(args)
  } catch (error) {
    if (error instanceof UserError) return `${error.message} / ${error.hint}`
    throw error
  }
  throw new Error('was not refused')
}
