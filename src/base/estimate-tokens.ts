/** A rule of thumb for text in English and for code, not what a model counts: four bytes a token. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / 4)
}
