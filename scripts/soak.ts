import { soakOnce } from '../tests/support/branch-soak.ts'
import { removeProjects } from '../tests/support/project.ts'
import { removeWorktrees } from '../tests/support/repository.ts'
import { withSeed } from '../tests/support/random.ts'

// `npm run soak -- parallel [KILLS] [SEED]`: random chains with branches are killed thousands of times.

const KILLS_EACH = 20

const [group, kills = '2000', first = String(Date.now() % 1_000_000)] = process.argv.slice(2)

if (group === 'parallel') process.exitCode = await soakParallel(Number(kills), Number(first))
else {
  console.error('Usage: npm run soak -- parallel [KILLS] [SEED]')
  process.exitCode = 2
}

async function soakParallel(most: number, begin: number): Promise<number> {
  let [done, chains, broken] = [0, 0, 0]
  for (let seed = begin; done < most; seed += 1) {
    const result = await withSeed(seed, (random) => soakOnce(random, KILLS_EACH))
    removeWorktrees()
    removeProjects()
    done += result.kills
    chains += 1
    broken += result.problems.length
    for (const problem of result.problems) console.log(`seed ${seed}: ${problem}`)
    console.log(`seed ${seed}: ${result.kills} kills, ${done} of ${most}`)
  }
  console.log(`${done} kills in ${chains} chains, ${broken} broken promises`)
  return broken === 0 ? 0 : 1
}
