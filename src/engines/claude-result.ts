import type { Fact, Failure, Tokens } from './engine.ts'

type Result = Readonly<Record<string, unknown>>

/** What the last event of an answer says: what it took, and whether it went well. */
export function readResult(result: Result): Fact[] {
  return [readUsage(result), { type: 'failure', failure: readFailure(result) }]
}

function readUsage(result: Result): Fact {
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
  const models: unknown[] = Object.values(usage)
  const sum = (key: string) =>
    models.reduce<number>((total, model) => total + numberIn(model, key), 0)
  return {
    input: sum('inputTokens'),
    output: sum('outputTokens'),
    cacheRead: sum('cacheReadInputTokens'),
    cacheWrite: sum('cacheCreationInputTokens'),
  }
}

function numberIn(value: unknown, key: string): number {
  if (typeof value !== 'object' || value === null) return 0
  const found: unknown = Reflect.get(value, key)
  return typeof found === 'number' ? found : 0
}

/** `is_error` counts: the subtype is "success" for errors of the API, too. */
function readFailure(result: Result): Failure | undefined {
  if (result['is_error'] !== true) return undefined
  const message = messageOf(result)
  return { kind: kindOf(result, message), message }
}

function messageOf({ result, errors, subtype }: Result): string {
  if (typeof result === 'string' && result !== '') return result
  if (Array.isArray(errors) && errors.length > 0) return errors.map(String).join('; ')
  return typeof subtype === 'string' ? subtype : 'it ended with an error'
}

/** Whoever has no right to ask will not get it by asking again. */
const AUTH =
  /not logged in|please run \/login|invalid api key|failed to authenticate|credit balance/i
const CONNECTION = /connection (?:refused|error|reset)|econn|overloaded|internal server error/i

function kindOf(result: Result, message: string): Failure['kind'] {
  const { subtype, terminal_reason: reason, api_error: problem, api_error_status: status } = result
  if (subtype === 'error_max_turns' || reason === 'max_turns') return 'max_turns'
  if (problem === 'usage_limit_reached') return 'rate_limited'
  // An unknown model (404) will not be known at the next try either.
  if (status === 401 || status === 403 || status === 404 || AUTH.test(message)) return 'auth_failed'
  if (status === 429 || (typeof status === 'number' && status >= 500)) return 'overloaded'
  return CONNECTION.test(message) ? 'overloaded' : 'error'
}
