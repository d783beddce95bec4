/** A rule of thumb for English text and code: four bytes per token. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4)
}
