/** Calls `work` repeatedly, with pauses that double up to `longestMs`. Returns a function that stops it. */
export function pollWithBackoff(work: () => void, firstMs: number, longestMs: number): () => void {
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
