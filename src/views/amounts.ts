import { formatDuration } from '../base/durations.ts'
import { counted, formatMoney, formatTokens } from '../base/amounts.ts'
import type { Spent } from '../records/events/schema.ts'
import { countTokens } from '../records/events/spent.ts'

/** `$1.23`, with a note if a subscription covers it. */
export function formatCost({ costUsd, billing }: Pick<Spent, 'costUsd' | 'billing'>): string {
  const money = formatMoney(costUsd)
  return billing === 'subscription' ? `${money} (API-equivalent)` : money
}

/** `2 h 05 min, 12 iterations, 345.6k tokens, $1.23`, without values that no agent reported. */
export function formatSpent(spent: Spent): string {
  const tokens = countTokens(spent)
  return [
    formatDuration(spent.ms),
    counted(spent.iterations, 'iteration'),
    ...(tokens > 0 ? [`${formatTokens(tokens)} tokens`] : []),
    ...(spent.costUsd > 0 ? [formatCost(spent)] : []),
  ].join(', ')
}
