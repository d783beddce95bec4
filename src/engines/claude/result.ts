import { isAmount } from '../../base/numbers.ts'
import type { Fact, Failure, LimitFact, Tokens } from '../engine.ts'
import { failureKindOf, readPrintedFailure } from '../limits/limit-messages.ts'
import { asCount, asObject, type Event } from './event.ts'

/** Usage and success, as the `result` event reports them. */
export function readResult(result: Event, rejected: LimitFact | undefined, now: Date): Fact[] {
  return [readUsage(result), { type: 'failure', failure: readFailure(result, rejected, now) }]
}

function readUsage(result: Event): Fact {
  const { num_turns: turns, total_cost_usd: costUsd } = result
  const models = asObject(result['modelUsage'])
  const denials = result['permission_denials']
  return {
    type: 'usage',
    ...(isAmount(turns) ? { turns } : {}),
    ...(isAmount(costUsd) ? { costUsd } : {}),
    // `usage` covers the last answer only.
    ...(models === undefined ? {} : { tokens: sumTokens(Object.values(models), RESULT_KEYS) }),
    ...(Array.isArray(denials) && denials.length > 0 ? { denied: denials.length } : {}),
  }
}

/** Only `is_error` is reliable: the subtype is "success" for API errors too. */
function readFailure(
  result: Event,
  rejected: LimitFact | undefined,
  now: Date,
): Failure | undefined {
  if (result['is_error'] !== true) return undefined
  const message = messageOf(result)
  const said = readPrintedFailure(message, now)
  const kind = kindOf(result, message, said?.kind, rejected)
  const resetsAt = rejected?.resetsAt ?? said?.resetsAt
  if (kind !== 'rate_limited' || resetsAt === undefined) return { kind, message }
  return { kind, message, resetsAt: Math.ceil(resetsAt) }
}

function messageOf({ result, errors, subtype }: Event): string {
  if (typeof result === 'string' && result !== '') return result
  if (Array.isArray(errors) && errors.length > 0) return errors.map(String).join('; ')
  return typeof subtype === 'string' ? subtype : 'ended with an error'
}

/** Authentication failures are not retried. */
const AUTH =
  /not logged in|please run \/login|invalid api key|failed to authenticate|credit balance|billing_error/i
const CONNECTION = /connection (?:refused|error|reset)|econn|overloaded|internal server error/i

function kindOf(
  result: Event,
  message: string,
  said: Failure['kind'] | undefined,
  rejected: LimitFact | undefined,
): Failure['kind'] {
  const { subtype, terminal_reason: reason, api_error: problem, api_error_status: status } = result
  if (subtype === 'error_max_turns' || reason === 'max_turns') return 'max_turns'
  if (subtype === 'error_max_budget_usd') return 'budget'
  const isRejected = status === 429 && rejected !== undefined
  if (problem === 'usage_limit_reached' || isRejected || said === 'rate_limited') {
    return 'rate_limited'
  }
  // For a direct agent, 404 can only mean an unknown model.
  if (status === 404 || AUTH.test(message)) return 'auth_failed'
  const answered = typeof status === 'number' ? failureKindOf(status, message) : undefined
  if (answered !== undefined) return answered
  return CONNECTION.test(message) ? 'overloaded' : (said ?? 'error')
}

const MESSAGE_KEYS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
]
const RESULT_KEYS = [
  'inputTokens',
  'outputTokens',
  'cacheReadInputTokens',
  'cacheCreationInputTokens',
]

/** Sums up usage while messages arrive. One message may arrive in pieces that repeat its usage. */
export class RunningUsage {
  readonly #byMessage = new Map<string, unknown>()
  #total = sumTokens([], MESSAGE_KEYS)

  /** The new total; undefined if nothing changed. */
  take(id: unknown, usage: unknown): Tokens | undefined {
    if (typeof id !== 'string' || asObject(usage) === undefined) return undefined
    this.#byMessage.set(id, usage)
    const total = sumTokens([...this.#byMessage.values()], MESSAGE_KEYS)
    if (Bun.deepEquals(total, this.#total)) return undefined
    this.#total = total
    return total
  }
}

function sumTokens(usages: readonly unknown[], keys: readonly string[]): Tokens {
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = keys.map((key) =>
    usages.reduce<number>((sum, usage) => sum + asCount(asObject(usage)?.[key]), 0),
  )
  return { input, output, cacheRead, cacheWrite }
}
