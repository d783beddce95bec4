import { parseDuration } from '../base/durations.ts'
import { readWhole } from '../base/numbers.ts'
import type { Overrides } from '../chain/plan/overrides.ts'
import type { Budget } from '../chain/plan/policy.ts'
import { UsageError, type Input } from './command.ts'

export function readOverrides(input: Input): Overrides {
  const timeoutMs = readLimit(input, 'timeout')
  const idleMs = readLimit(input, 'idle-timeout')
  const stall = readCount(input, 'stall', 0, 'Write e.g. 3, or 0 for never.')
  const verify = input.texts('verify').map((command) => checkCommand('verify', command))
  const until = input.text('until')
  return {
    budget: readBudget(input),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(idleMs !== undefined && { idleMs }),
    ...(stall !== undefined && { stall }),
    ...(verify.length > 0 && { verify }),
    ...(until !== undefined && { until: checkCommand('until', until) }),
  }
}

function readBudget(input: Input): Budget {
  const costUsd = readDollars(input, 'max-cost')
  const tokens = readCount(input, 'max-tokens', 1, 'Write e.g. 2000000.')
  const ms = readTime(input, 'max-duration', 'e.g. 30m or 8h')
  return {
    ...(costUsd !== undefined && { costUsd }),
    ...(tokens !== undefined && { tokens }),
    ...(ms !== undefined && { ms }),
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

function readCount(input: Input, option: string, least: number, hint: string) {
  const text = input.text(option)
  return text === undefined ? undefined : readWhole(`--${option}`, text, { least }, hint)
}

function readDollars(input: Input, option: string): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const number = /^\$?\d+(\.\d+)?$/.test(text) ? Number(text.replace('$', '')) : 0
  if (number > 0 && number <= Number.MAX_SAFE_INTEGER) return number
  throw new UsageError(
    `--${option} is '${text}', expected an amount in US dollars, more than 0.`,
    'Write e.g. 5 or 2.50.',
  )
}

function checkCommand(option: string, command: string): string {
  if (command.trim() !== '') return command
  throw new UsageError(`The command for --${option} is empty.`)
}
