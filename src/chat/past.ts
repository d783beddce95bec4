/** What was typed before, and where in it one looks; at its end is what is being typed. */
export interface Past {
  readonly entries: readonly string[]
  readonly at: number
  readonly draft: string
}

/** So many are kept. */
export const MOST = 1000

export function makePast(entries: readonly string[]): Past {
  const kept = entries.slice(-MOST)
  return { entries: kept, at: kept.length, draft: '' }
}

/** A step back or forward; undefined where there is nothing more. `text` is what stands there now. */
export function look(
  { entries, at, draft }: Past,
  direction: -1 | 1,
  text: string,
): { readonly past: Past; readonly text: string } | undefined {
  const next = at + direction
  if (next < 0 || next > entries.length) return undefined
  const kept = at === entries.length ? text : draft
  return { past: { entries, at: next, draft: kept }, text: entries[next] ?? kept }
}

/** With what was said now; the same twice in a row is kept once. */
export function remember({ entries }: Past, text: string): Past {
  return makePast(entries.at(-1) === text ? entries : [...entries, text])
}
