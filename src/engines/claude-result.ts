import { kindOfAnswer } from './api-status.ts'
import { asNumber, asObject, type Event } from './claude-event.ts'
import type { Fact, Failure, Tokens } from './engine.ts'
import { readLastWords } from './wordings.ts'

/** What is known of a quota that is used up, if one is. */
type Rejected = Extract<Fact, { type: 'limit' }> | undefined

/** What the last event of an answer says: what it took, and whether it went well. */
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

/** By model, and of the whole process: `usage` holds the last answer alone. */
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

/** `is_error` counts: the subtype is "success" for errors of the API, too. */
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
  return typeof subtype === 'string' ? subtype : 'it ended with an error'
}

/** Whoever has no right to ask will not get it by asking again. */
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
  // Of a direct agent nothing but a model can be unknown.
  if (status === 404 || AUTH.test(message)) return 'auth_failed'
  const answered = typeof status === 'number' ? kindOfAnswer(status, message) : undefined
  if (answered !== undefined) return answered
  return CONNECTION.test(message) ? 'overloaded' : (said ?? 'error')
}
