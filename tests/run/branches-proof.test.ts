import { afterEach, expect, test } from 'bun:test'
import { soakOnce } from '../support/branch-soak.ts'
import { SEED, withSeed } from '../support/random.ts'
import { removeWorktrees } from '../support/repository.ts'

afterEach(removeWorktrees)

const KILLS = 200
const KILLS_EACH = 20

test(`${KILLS} kills of random chains break no promise (FORKHESTRA_TEST_SEED=${SEED})`, async () => {
  let kills = 0
  let seed = SEED
  async function killUntilDone(): Promise<void> {
    while (kills < KILLS) {
      const own = seed++
      const result = await withSeed(own, (random) => soakOnce(random, KILLS_EACH))
      kills += result.kills
      expect([own, result.problems]).toEqual([own, []])
    }
  }
  await Promise.all([killUntilDone(), killUntilDone()])
})
