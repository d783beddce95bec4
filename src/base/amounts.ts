/** `$1.23`, and `$0.0042` for amounts below a cent. */
export function formatMoney(usd: number): string {
  if (usd === 0 || usd >= 0.01) return `$${usd.toFixed(2)}`
  return usd < 0.0001 ? '< $0.0001' : `$${usd.toFixed(4)}`
}

/** `999`, `12.3k`, `1.2M`. */
export function formatTokens(count: number): string {
  if (count < 999.5) return String(Math.round(count))
  return count < 999_950 ? `${(count / 1e3).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`
}

/** `1 iteration`, `2 iterations`. */
export function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/** `1 task stays queued`, `2 tasks stay queued`. */
export function describeQueued(held: number): string {
  return `${counted(held, 'task')} ${held === 1 ? 'stays' : 'stay'} queued`
}
