import { printable } from '../../base/terminal/printable.ts'
import { orphansOption, renderRuns, resumeCommand } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { describeRun } from '../../host/records/describe-run.ts'
import { describeForeign, isOwnOrUnsigned } from '../../host/records/foreign.ts'
import { recordsFor } from './choose-run.ts'
import { readAllRuns } from '../../host/records/with-queue.ts'

export async function listRecordedRuns(input: Input): Promise<number> {
  const places = recordsFor(input)
  const { root, runs, broken } = readAllRuns(places)
  const now = Date.now()
  const code = runs.some(({ unreadable }) => unreadable !== undefined) ? 1 : 0
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, runs: runs.map((run) => describeRun(run, now)), broken }))
    return code
  }
  if (runs.length === 0) console.log(`No runs recorded in ${root}`)
  else console.log(renderRuns(runs, now).join('\n'))
  const own = runs.filter(({ foreign }) => foreign === undefined)
  for (const run of own.filter(({ status }) => status === 'dead'))
    console.log(
      `The process of run ${run.id} is dead; resume it: ${resumeCommand(run.id, run.isChat)}${orphansOption(run)}`,
    )
  for (const { id, unreadable } of runs)
    if (unreadable !== undefined) console.log(`The queue of ${id}: ${printable(unreadable)}`)
  for (const { id, foreign } of runs.filter((run) => !isOwnOrUnsigned(run)))
    console.log(`Run ${id} was not created here: ${describeForeign(foreign)}`)
  for (const id of broken) console.log(`The record of ${printable(id)} cannot be read`)
  return code
}
