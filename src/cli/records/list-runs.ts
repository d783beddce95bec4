import { printable } from '../../base/printable.ts'
import { readRuns } from '../../journal/runs.ts'
import { renderRuns } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { describeRun } from './describe-run.ts'
import { recordsOf } from './place.ts'
import { withQueue } from './with-queue.ts'

/** The verb `runs`. */
export async function listRecordedRuns(input: Input): Promise<number> {
  const roots = recordsOf(input)
  const [root] = roots
  const { runs: all, broken } = readRuns(roots)
  const runs = all.map(withQueue)
  const now = Date.now()
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, runs: runs.map((run) => describeRun(run, now)), broken }))
    return 0
  }
  if (runs.length === 0) console.log(`There are no records of runs; they would be in ${root}`)
  else console.log(renderRuns(runs, now).join('\n'))
  for (const { id } of runs.filter(({ status }) => status === 'dead'))
    console.log(`The forkhestra of ${id} is gone; go on with: forkhestra resume ${id}`)
  for (const { id, unreadable } of runs)
    if (unreadable !== undefined) console.log(`The queue of ${id}: ${printable(unreadable)}`)
  for (const id of broken) console.log(`The record of ${printable(id)} cannot be read`)
  return 0
}
