import { afterAwake } from '../base/awake.ts'
import { durationWords } from '../base/durations.ts'

/** Tells once the time that a budget leaves is over; what is returned ends the watch. */
export function watchTime(ms: number | undefined, tell: (words: string) => void): () => void {
  if (ms === undefined) return () => undefined
  const words = `time is over after another ${durationWords(ms)}`
  return afterAwake(ms, () => tell(words))
}
