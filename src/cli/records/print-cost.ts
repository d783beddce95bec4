import { listRuns } from '../../journal/runs.ts'
import { renderCost } from '../../views/cost.ts'
import { UsageError, type Input } from '../command.ts'
import { COST_KEYS } from '../commands/cost.ts'
import { CostTable, type CostKey } from './cost-table.ts'
import { readEndedIterations } from './ended-iterations.ts'
import { chooseRun, recordsOf } from './place.ts'

/** The verb `cost`. */
export async function printCost(input: Input): Promise<number> {
  const by = readKey(input.text('by') ?? 'run')
  const roots = recordsOf(input)
  const [root] = roots
  const runs = input.positionals.length > 0 ? [chooseRun(input, roots)] : listRuns(roots)
  const table = new CostTable(by)
  for (const { id, folder, state } of runs) {
    for (const event of readEndedIterations(folder)) table.add(id, state, event)
  }
  const { rows, total } = table
  if (input.flag('json')) console.log(JSON.stringify({ root, by, rows, total }))
  else if (rows.length === 0) console.log(`There is nothing to add up in ${root}`)
  else console.log(renderCost(by, rows, total).join('\n'))
  return 0
}

function readKey(text: string): CostKey {
  const key = COST_KEYS.find((known) => known === text)
  if (key !== undefined) return key
  throw new UsageError(`--by is '${text}'.`, `Write one of: ${COST_KEYS.join(', ')}.`)
}
