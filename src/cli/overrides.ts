import { parseDuration } from '../base/durations.ts'
import type { Overrides } from '../chain/plan/make-policy.ts'
import type { Budget } from '../chain/plan/policy.ts'
import { UsageError, type Input } from './command.ts'

/** What the options for limits and gates say, in every command that has them. */
export function readOverrides(input: Input): Overrides {
  const [timeoutMs, idleMs] = [readLimit(input, 'timeout'), readLimit(input, 'idle-timeout')]
  const stall = readNumber(
    input,
    'stall',
    /^\d+$/,
    'a whole number, 0 or more',
    'e.g. 3, or 0 for never',
  )
  const verify = input.texts('verify').map((command) => checkCommand('verify', command))
  const until = input.text('until')
  return {
    budget: readBudget(input),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(stall === undefined ? {} : { stall }),
    ...(verify.length === 0 ? {} : { verify }),
    ...(until === undefined ? {} : { until: checkCommand('until', until) }),
  }
}

function readBudget(input: Input): Budget {
  const costUsd = readNumber(
    input,
    'max-cost',
    /^\$?(?=.*[1-9])\d+(\.\d+)?$/,
    'an amount in US dollars, more than 0',
    'e.g. 5 or 2.50',
  )
  const tokens = readNumber(
    input,
    'max-tokens',
    /^(?=.*[1-9])\d+$/,
    'a positive integer',
    'e.g. 2000000',
  )
  const ms = readTime(input, 'max-duration', 'e.g. 30m or 8h')
  return {
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(ms === undefined ? {} : { ms }),
  }
}

function readLimit(input: Input, option: string): number | 'off' | undefined {
  return input.text(option) === 'off' ? 'off' : readTime(input, option, 'e.g. 30m, or off')
}

function readTime(input: Input, option: string, example: string): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const ms = Math.ceil(parseDuration(text, `--${option}`))
  if (ms > 0) return ms
  throw new UsageError(
    `--${option} is '${text}', expected a time longer than zero.`,
    `Write ${example}.`,
  )
}

function readNumber(
  input: Input,
  option: string,
  pattern: RegExp,
  expected: string,
  example: string,
): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const number = Number(text.replace(/^\$/, ''))
  if (pattern.test(text) && number <= Number.MAX_SAFE_INTEGER) return number
  throw new UsageError(`--${option} is '${text}', expected ${expected}.`, `Write ${example}.`)
}

function checkCommand(option: string, command: string): string {
  if (command.trim() !== '') return command
  throw new UsageError(`The command for --${option} is empty.`)
}
