/** Several who look now and then look at the same time: to wake up is most of what a look costs. */
function onTheSecond(pauseMs: number): number {
  const due = performance.now() + pauseMs
  return pauseMs < 1000 ? pauseMs : pauseMs + 1000 - (due % 1000)
}

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
    }, onTheSecond(pauseMs))
  }
  arm(firstMs)
  return () => clearTimeout(timer)
}
