/** What was typed before, and where in it one looks; at its end is what is being typed. */
export interface InputHistory {
  readonly entries: readonly string[]
  readonly at: number
  readonly draft: string
}

/** So many are kept. */
export const MOST = 1000

export function makeInputHistory(entries: readonly string[]): InputHistory {
  const kept = entries.slice(-MOST)
  return { entries: kept, at: kept.length, draft: '' }
}

/** The previous or next input; undefined at the end. `text` is the current input. */
export function look(
  { entries, at, draft }: InputHistory,
  direction: -1 | 1,
  text: string,
): { readonly past: InputHistory; readonly text: string } | undefined {
  const next = at + direction
  if (next < 0 || next > entries.length) return undefined
  const kept = at === entries.length ? text : draft
  return { past: { entries, at: next, draft: kept }, text: entries[next] ?? kept }
}

/** With what was said now; the same twice in a row is kept once. */
export function remember({ entries }: InputHistory, text: string): InputHistory {
  return makeInputHistory(entries.at(-1) === text ? entries : [...entries, text])
}
