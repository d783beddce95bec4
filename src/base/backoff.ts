/** Rounds long pauses up to a full second, so that several pollers share one wake-up of the CPU. */
function toFullSecond(pauseMs: number): number {
  const due = performance.now() + pauseMs
  return pauseMs < 1000 ? pauseMs : pauseMs + 1000 - (due % 1000)
}

/** Calls `work` repeatedly, with pauses that double up to `longestMs`. Returns a function that stops it. */
export function pollWithBackoff(work: () => void, firstMs: number, longestMs: number): () => void {
  let timer: Timer
  const arm = (pauseMs: number) => {
    timer = setTimeout(() => {
      arm(Math.min(2 * pauseMs, longestMs))
      work()
    }, toFullSecond(pauseMs))
  }
  arm(firstMs)
  return () => clearTimeout(timer)
}
