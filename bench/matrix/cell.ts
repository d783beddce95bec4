/** Whether a tool did what is right, and what was seen of it. */
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
