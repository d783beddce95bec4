import { durationWords } from '../base/durations.ts'
import { counted, moneyWords, tokenWords } from '../base/amounts.ts'
import type { Spent } from '../events/schema.ts'
import { countTokens } from '../events/spent.ts'

/** `$1.23`, with a note where a subscription pays and nobody takes that sum. */
export function costWords({ costUsd, billing }: Pick<Spent, 'costUsd' | 'billing'>): string {
  const money = moneyWords(costUsd)
  return billing === 'subscription' ? `${money} (API-equivalent)` : money
}

/** `2 h 05 min, 12 iterations, 345.6k tokens, $1.23`; what no agent told of is left out. */
export function spentWords(spent: Spent): string {
  const tokens = countTokens(spent)
  return [
    durationWords(spent.ms),
    counted(spent.iterations, 'iteration'),
    ...(tokens > 0 ? [`${tokenWords(tokens)} tokens`] : []),
    ...(spent.costUsd > 0 ? [costWords(spent)] : []),
  ].join(', ')
}
