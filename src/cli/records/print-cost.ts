import { readEventsOf } from '../../records/journal/read-run.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { renderCost } from '../../views/cost.ts'
import { UsageError, type Input } from '../command.ts'
import { COST_KEYS, CostTable, type CostKey } from '../../host/records/cost-table.ts'
import { isFamiliar, lookAt } from '../../host/records/foreign.ts'
import { chooseRun, recordsFor } from './choose-run.ts'

/** The command `cost`. */
export async function printCost(input: Input): Promise<number> {
  const by = readKey(input.text('by') ?? 'run')
  const places = recordsFor(input)
  const [root] = places.roots
  const isOne = input.positionals.length > 0
  const runs = isOne ? [chooseRun(input, places)] : listRuns(places).filter(isFamiliar)
  const table = new CostTable(by)
  for (const run of runs) await lookAt(run, () => addRun(table, run))
  const { rows, total } = table
  if (input.flag('json')) console.log(JSON.stringify({ root, by, rows, total }))
  else if (rows.length === 0) console.log(`No runs recorded in ${root}`)
  else console.log(renderCost(by, rows, total).join('\n'))
  return 0
}

function addRun(table: CostTable, { id, folder, state }: RunBrief): void {
  for (const event of readEventsOf(folder, ['iteration_ended', 'task_ended']))
    table.add(id, state, event)
}

function readKey(text: string): CostKey {
  const key = COST_KEYS.find((known) => known === text)
  if (key !== undefined) return key
  throw new UsageError(`--by is '${text}'.`, `Write one of: ${COST_KEYS.join(', ')}.`)
}
