/** Pseudorandom numbers from 0 to 1, reproducible by seed. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Of a test with random input; a failure names the seed that repeats it. */
export const SEED = Number(process.env['FORKHESTRA_TEST_SEED'] ?? 20_114)

/** Adds the seed to the error of a trial that fails. */
export async function withSeed<Result>(
  seed: number,
  trial: (random: () => number) => Promise<Result>,
): Promise<Result> {
  try {
    return await trial(randomFrom(seed))
  } catch (error) {
    throw new Error(`FORKHESTRA_TEST_SEED=${seed}`, { cause: error })
  }
}
