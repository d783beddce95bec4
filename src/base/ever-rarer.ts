/**
 * Calls again and again, after pauses that double up to the longest: whoever has waited for long may
 * as well wait a little longer, and many who wait cost next to nothing. Returns what ends it.
 */
export function everRarer(work: () => void, firstMs: number, longestMs: number): () => void {
  let timer: Timer
  const arm = (pauseMs: number) => {
    timer = setTimeout(() => {
      arm(Math.min(2 * pauseMs, longestMs))
      work()
    }, pauseMs)
  }
  arm(firstMs)
  return () => clearTimeout(timer)
}
