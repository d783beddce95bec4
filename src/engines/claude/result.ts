import { failureKindOf } from '../limits/api-status.ts'
import { asNumber, asObject, type Event } from './event.ts'
import type { Fact, Failure, Tokens } from '../engine.ts'
import { readLastWords } from '../limits/limit-messages.ts'

/** The usage limit that was reached, if any. */
type Rejected = Extract<Fact, { type: 'limit' }> | undefined

/** Usage and success, as the `result` event reports them. */
export function readResult(result: Event, rejected: Rejected, now: Date): Fact[] {
  return [readUsage(result), { type: 'failure', failure: readFailure(result, rejected, now) }]
}

function readUsage(result: Event): Fact {
  const { num_turns: turns, total_cost_usd: costUsd } = result
  const tokens = readTokens(result['modelUsage'])
  const denials = result['permission_denials']
  return {
    type: 'usage',
    ...(typeof turns === 'number' ? { turns } : {}),
    ...(typeof costUsd === 'number' ? { costUsd } : {}),
    ...(tokens === undefined ? {} : { tokens }),
    ...(Array.isArray(denials) && denials.length > 0 ? { denied: denials.length } : {}),
  }
}

/** Sums up the models of the whole process: `usage` covers the last answer only. */
function readTokens(usage: unknown): Tokens | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined
  const models = Object.values(usage).map(asObject)
  const sum = (key: string) =>
    models.reduce<number>((total, model) => total + asNumber(model?.[key]), 0)
  return {
    input: sum('inputTokens'),
    output: sum('outputTokens'),
    cacheRead: sum('cacheReadInputTokens'),
    cacheWrite: sum('cacheCreationInputTokens'),
  }
}

/** Only `is_error` is reliable: the subtype is "success" for API errors, too. */
function readFailure(result: Event, rejected: Rejected, now: Date): Failure | undefined {
  if (result['is_error'] !== true) return undefined
  const message = messageOf(result)
  const said = readLastWords(message, now)
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
  rejected: Rejected,
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
