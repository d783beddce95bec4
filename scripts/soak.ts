import {
  brokenPromises,
  filesOn,
  filesUndisturbed,
  randomScenario,
  runWithKills,
} from '../tests/support/branch-soak.ts'
import { removeProjects } from '../tests/support/project.ts'
import { removeWorktrees } from '../tests/support/repository.ts'
import { withSeed } from '../tests/support/random.ts'

// `npm run soak -- parallel [KILLS] [SEED]`: random chains with branches are killed thousands of times.

const KILLS_EACH = 8

const [group, kills = '2000', first = String(Date.now() % 1_000_000)] = process.argv.slice(2)

if (group === 'parallel') process.exitCode = await soakParallel(Number(kills), Number(first))
else {
  console.error('Usage: npm run soak -- parallel [KILLS] [SEED]')
  process.exitCode = 2
}

async function soakParallel(most: number, begin: number): Promise<number> {
  let [done, chains, broken] = [0, 0, 0]
  for (let seed = begin; done < most; seed += 1) {
    const result = await withSeed(seed, soakOne)
    done += result.kills
    chains += 1
    broken += result.problems.length
    for (const problem of result.problems) console.log(`seed ${seed}: ${problem}`)
    console.log(`seed ${seed}: ${result.kills} kills, ${done} of ${most}`)
  }
  console.log(`${done} kills in ${chains} chains, ${broken} broken promises`)
  return broken === 0 ? 0 : 1
}

async function soakOne(
  random: () => number,
): Promise<{ readonly kills: number; readonly problems: readonly string[] }> {
  const scenario = randomScenario(random)
  const { cwd, kills: count, code } = await runWithKills(scenario, random, KILLS_EACH)
  const problems = await brokenPromises(cwd)
  if (scenario.isOrderless) {
    const expected = await filesUndisturbed(scenario)
    if (code !== 0) problems.push(`exit code ${code}`)
    if (!Bun.deepEquals(filesOn(cwd, 'main'), expected))
      problems.push('other files than without kills')
  }
  removeWorktrees()
  removeProjects()
  return { kills: count, problems }
}
