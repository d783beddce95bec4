import { printable } from '../../base/printable.ts'
import { readRuns } from '../../journal/runs.ts'
import { renderRuns } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { describeRun } from './describe-run.ts'
import { foreignLine, isFamiliar, isPresentable } from './foreign.ts'
import { recordsOf } from './place.ts'
import { withQueue } from './with-queue.ts'

/** The verb `runs`. */
export async function listRecordedRuns(input: Input): Promise<number> {
  const places = recordsOf(input)
  const [root] = places.roots
  const { runs: all, broken: unread } = readRuns(places)
  const runs = all.filter(isPresentable).map(withQueue)
  const broken = [...unread, ...all.filter((run) => !isPresentable(run)).map(({ id }) => id)]
  const now = Date.now()
  const code = runs.some(({ unreadable }) => unreadable !== undefined) ? 1 : 0
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, runs: runs.map((run) => describeRun(run, now)), broken }))
    return code
  }
  if (runs.length === 0) console.log(`There are no records of runs; they would be in ${root}`)
  else console.log(renderRuns(runs, now).join('\n'))
  const own = runs.filter(({ foreign }) => foreign === undefined)
  for (const { id } of own.filter(({ status }) => status === 'dead'))
    console.log(`The forkhestra of ${id} is gone; go on with: forkhestra resume ${id}`)
  for (const { id, unreadable } of runs)
    if (unreadable !== undefined) console.log(`The queue of ${id}: ${printable(unreadable)}`)
  for (const line of runs.filter((run) => !isFamiliar(run)).flatMap(foreignLine)) console.log(line)
  for (const id of broken) console.log(`The record of ${printable(id)} cannot be read`)
  return code
}
