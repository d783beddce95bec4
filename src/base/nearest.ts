/** The candidate that the user most likely meant, or undefined if none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const limit = Math.min(word.length - 1, Math.max(1, Math.floor(word.length / 3)))
  let best: string | undefined
  let bestDistance = limit + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > limit) continue
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(replace, last[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, beforeLast[j - 2]! + 1)
      }
      row.push(cost)
    }
    ;[beforeLast, last] = [last, row]
  }
  return last[b.length]!
}

/** ` (did you mean 'x'?)` or an empty text, to end a message about an unknown word. */
export function didYouMean(word: string, candidates: Iterable<string>, what = ''): string {
  const others = [...candidates].filter((candidate) => candidate !== word)
  const found = nearest(word, others)
  return found === undefined ? '' : ` (did you mean ${what}'${found}'?)`
}
