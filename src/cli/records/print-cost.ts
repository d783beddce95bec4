import { readEventsOf } from '../../records/journal/read-run.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { renderCost } from '../../views/cost.ts'
import { UsageError, type Input } from '../command.ts'
import { printResult } from '../print.ts'
import { COST_KEYS, CostTable, type CostKey } from '../../host/records/cost-table.ts'
import { isOwnOrUnsigned, reportingDamage } from '../../host/records/foreign.ts'
import { chooseRun, recordsFor } from './choose-run.ts'

export async function printCost(input: Input): Promise<number> {
  const by = readKey(input.text('by') ?? 'run')
  const places = recordsFor(input)
  const [root] = places.roots
  const isOne = input.positionals.length > 0
  const runs = isOne ? [chooseRun(input, places)] : listRuns(places).filter(isOwnOrUnsigned)
  const table = new CostTable(by)
  for (const run of runs) await reportingDamage(run, () => addRun(table, run))
  const { rows, total } = table
  const text =
    rows.length === 0 ? `No runs recorded in ${root}` : renderCost(by, rows, total).join('\n')
  return printResult(input, { root, by, rows, total }, text)
}

function addRun(table: CostTable, { id, folder, state }: RunBrief): void {
  for (const event of readEventsOf(folder, ['iteration_ended', 'task_ended']))
    table.add(id, state, event)
}

function readKey(text: string): CostKey {
  const key = COST_KEYS.find((known) => known === text)
  if (key !== undefined) return key
  throw new UsageError(`--by is '${text}'.`, `Use one of: ${COST_KEYS.join(', ')}.`)
}
