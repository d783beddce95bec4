import type { Event } from './claude-event.ts'
import type { Fact } from './engine.ts'

type Billing = Extract<Fact, { type: 'session' }>['billing']

/** Where the CLI took its key from; with a login of a subscription there is none. */
const BILLING: Readonly<Record<string, Billing>> = {
  none: 'subscription',
  oauth: 'subscription',
  ANTHROPIC_API_KEY: 'api',
  apiKeyHelper: 'api',
  '/login managed key': 'api',
  user: 'api',
  project: 'api',
  org: 'api',
  temporary: 'api',
}

/** Models of other clouds, which take no key of Anthropic's either, have names like these. */
const OTHER_CLOUD = /anthropic\.|@|^arn:/

/** Who pays, by the event that begins a session; undefined where it does not tell. */
export function billingOf({ apiKeySource: source, model }: Event): Billing {
  if (typeof source !== 'string' || !Object.hasOwn(BILLING, source)) return undefined
  const isElsewhere = typeof model === 'string' && OTHER_CLOUD.test(model)
  return source === 'none' && isElsewhere ? undefined : BILLING[source]
}
