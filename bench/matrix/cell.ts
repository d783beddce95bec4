/** Whether a tool reacted correctly, and what was observed. */
export interface Cell {
  readonly verdict: 'yes' | 'no' | '?'
  readonly seen: string
}

export function judged(isRight: boolean, seen: string): Cell {
  return { verdict: isRight ? 'yes' : 'no', seen }
}

export function countOf({ length }: readonly number[]): string {
  return length === 1 ? '1 call' : `${length} calls`
}
