import { afterAwake } from '../base/awake.ts'
import { durationWords } from '../base/durations.ts'

export function timeOver(ms: number): string {
  return `time is over after another ${durationWords(ms)}`
}

/** Tells once the time that a budget leaves is over; what is returned ends the watch. */
export function watchTime(ms: number | undefined, tell: (words: string) => void): () => void {
  return ms === undefined ? () => undefined : afterAwake(ms, () => tell(timeOver(ms)))
}
