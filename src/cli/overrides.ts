import { dropUndefined } from '../base/objects.ts'
import { parseDuration } from '../base/durations.ts'
import { readWhole } from '../base/numbers.ts'
import { didYouMean } from '../base/nearest.ts'
import type { NotifyConfig } from '../chain/parse/notify-schema.ts'
import { makeNotify } from '../chain/plan/notify.ts'
import type { Overrides } from '../chain/plan/overrides.ts'
import { UsageError, type Input } from './command.ts'

export function readOverrides(input: Input): Overrides {
  const verify = input.texts('verify').map((command) => checkCommand('verify', command))
  const until = input.text('until')
  return dropUndefined({
    budget: dropUndefined({
      costUsd: readDollars(input, 'max-cost'),
      tokens: readCount(input, 'max-tokens', 1, 'For example: --max-tokens 2000000'),
      ms: readTime(input, 'max-duration', '8h'),
    }),
    timeoutMs: readLimit(input, 'timeout'),
    idleMs: readLimit(input, 'idle-timeout'),
    stall: readCount(input, 'stall', 0, 'For example: --stall 3, or --stall 0 for no limit'),
    verify: verify.length === 0 ? undefined : verify,
    until: until === undefined ? undefined : checkCommand('until', until),
    maxParallel: readCount(input, 'max-parallel', 1, 'For example: --max-parallel 4'),
    notify: makeNotify(readNotify(input.texts('notify'))),
  })
}

function readLimit(input: Input, option: string): number | 'off' | undefined {
  return input.text(option) === 'off' ? 'off' : readTime(input, option, '30m')
}

function readTime(input: Input, option: string, example: string): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const ms = Math.ceil(parseDuration(text, `--${option}`))
  if (ms > 0) return ms
  throw new UsageError(
    `--${option} is '${text}', expected a duration greater than zero.`,
    `For example: --${option} ${example}`,
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
    `--${option} is '${text}', expected an amount in US dollars greater than 0.`,
    'For example: --max-cost 5, or --max-cost 2.50',
  )
}

function checkCommand(option: string, command: string): string {
  if (command.trim() !== '') return command
  throw new UsageError(`The command for --${option} is empty.`)
}

const NOTIFY_HINT =
  'Use desktop, bell, a URL, env:NAME for a URL in a variable, a command, or off: --notify desktop'

/** The words of `--notify`, which replace the configuration; `off` is an empty list. */
function readNotify(words: readonly string[]): NotifyConfig | undefined {
  if (words.length === 0) return undefined
  if (words.length === 1 && words[0] === 'off') return []
  return words.map((word) => {
    const [, urlEnv] = /^env:([A-Za-z_]\w*)$/.exec(word) ?? []
    if (urlEnv !== undefined) return { urlEnv }
    if (word === 'desktop' || word === 'bell') return { to: word }
    if (/^https?:\/\/[^\s/]/.test(word)) return { url: word }
    const guess = didYouMean(word, ['desktop', 'bell', 'off'])
    const isUrl = /^(?:\w+:\/\/|env:|(?:[\w-]+\.)+(?:com|sh)\/)/.test(word)
    if (word.trim() !== '' && word !== 'off' && guess === '' && !isUrl) return { command: word }
    // A URL may be secret.
    const shown = isUrl ? 'is not a valid URL or variable' : `is '${word}'`
    throw new UsageError(`--notify ${shown}${guess}.`, NOTIFY_HINT)
  })
}
