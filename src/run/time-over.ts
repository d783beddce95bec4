import { durationWords } from '../base/durations.ts'

/** No timer can wait longer. */
const LONGEST_MS = 2 ** 31 - 1

/** Tells once the time that a budget leaves is over; what is returned ends the watch. */
export function watchTime(ms: number | undefined, tell: (words: string) => void): () => void {
  if (ms === undefined) return () => undefined
  const words = `time is over after another ${durationWords(ms)}`
  const timer = setTimeout(() => tell(words), Math.min(ms, LONGEST_MS))
  return () => clearTimeout(timer)
}
