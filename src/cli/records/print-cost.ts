import { readEventsOf } from '../../records/journal/read-run.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { renderCost } from '../../views/cost.ts'
import { UsageError, type Input } from '../command.ts'
import { print, printPainted, stdoutLayout } from '../print.ts'
import { COST_KEYS, CostTable, type CostKey } from '../../host/records/cost-table.ts'
import { isOwnOrUnsigned, reportingDamage } from '../../host/records/foreign.ts'
import { chooseRun, isListed, readFilter, recordsFor } from './choose-run.ts'

export async function printCost(input: Input): Promise<number> {
  const by = readKey(input.text('by') ?? 'run')
  const places = recordsFor(input)
  const [root] = places.roots
  const isOne = input.positionals.length > 0
  const filter = readFilter(input)
  const all = isOne ? [chooseRun(input, places)] : listRuns(places).filter(isOwnOrUnsigned)
  const runs = all.filter((run) => isListed(run, filter))
  const table = new CostTable(by)
  for (const run of runs) await reportingDamage(run, () => addRun(table, run, filter.since))
  const { rows, total } = table
  if (input.flag('json')) print(JSON.stringify({ root, by, rows, total }))
  else if (rows.length > 0) printPainted(renderCost(by, rows, total, stdoutLayout()))
  else print(all.length === 0 ? `No runs recorded in ${root}` : 'Nothing was spent by these runs.')
  return 0
}

function addRun(table: CostTable, { id, folder, state }: RunBrief, since: number): void {
  for (const event of readEventsOf(folder, ['iteration_ended', 'task_ended']))
    if (Date.parse(event.at) >= since) table.add(id, state, event)
}

function readKey(text: string): CostKey {
  const key = COST_KEYS.find((known) => known === text)
  if (key !== undefined) return key
  throw new UsageError(`--by is '${text}'.`, `Use one of: ${COST_KEYS.join(', ')}.`)
}
