import { basename } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { printable } from '../../base/terminal/printable.ts'
import { isDriven } from '../../records/journal/run-lock.ts'
import { oldRecords, pruneRuns, type Pruned, type WhyWanted } from '../../records/journal/runs.ts'
import { UsageError, type Input } from '../command.ts'
import type { Places } from '../../host/records/place.ts'
import { readNumber, recordsFor } from './choose-run.ts'
import { whyWanted } from '../../host/records/unfinished-queues.ts'

const TRACKED = 'git tracks it; to remove it: git rm -r'
const FOREIGN = 'it was not made here'

/** The command `clean`. */
export async function cleanRuns(input: Input): Promise<number> {
  const keep = readNumber(input, 'keep', 0)
  if (keep === undefined) {
    throw new UsageError('--keep is required.', 'Write e.g. forkhestra clean --keep 10')
  }
  const places = recordsFor(input)
  const [root] = places.roots
  const isDry = input.flag('dry-run')
  const whyKept = makeWhyKept(input, places)
  const old = findOld(places, keep, input.flag('with-foreign'))
  const kept: { id: string; why: string }[] = []
  for (const folder of old) {
    const why = await whyKept(folder)
    if (why !== undefined) kept.push({ id: basename(folder), why })
  }
  const isKept = (id: string) => kept.some((each) => each.id === id)
  const { removed, failed }: Pruned = isDry
    ? { removed: old.map((folder) => basename(folder)).filter((id) => !isKept(id)), failed: [] }
    : await pruneRuns(places, old, whyKept)
  const code = failed.length === 0 ? 0 : 1
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, removed, kept, failed, isDryRun: isDry }))
    return code
  }
  for (const { id, why } of kept) console.log(`kept: ${printable(id)}: ${printable(why)}`)
  const what = isDry ? 'would be removed' : 'removed'
  for (const id of removed) console.log(`${what}: ${printable(id)}`)
  for (const { id, why } of failed) console.log(`not removed: ${printable(id)}: ${printable(why)}`)
  if (removed.length > 0) console.log(`${counted(removed.length, 'run')} ${what}`)
  else if (failed.length === 0) console.log(`Nothing to remove in ${root}`)
  const options = new Set(kept.flatMap(({ why }) => optionFor(why)))
  if (options.size > 0) console.log(`To remove these as well: ${[...options].join(' ')}`)
  return code
}

function optionFor(why: string): string[] {
  if (why === TRACKED) return []
  return [why === FOREIGN ? '--with-foreign' : '--with-queues']
}

function makeWhyKept(input: Input, { origins }: Places): WhyWanted {
  return (folder, run) => {
    if (run !== undefined) return input.flag('with-queues') ? undefined : whyWanted(folder, run)
    const foreign = origins.checkStrictly(folder)
    if (foreign === 'tracked') return TRACKED
    const isOwn = foreign === undefined || foreign === 'changed'
    if (!isOwn && !input.flag('with-foreign')) return FOREIGN
    // A foreign database is not even opened.
    const isOpened = isOwn || foreign === 'no_id'
    return isOpened && !input.flag('with-queues') ? whyWanted(folder) : undefined
  }
}

/** Old records, and foreign ones, which are only listed; records of active runs are left out. */
function findOld(places: Places, keep: number, withForeign: boolean): string[] {
  const all = oldRecords(places, 0, true)
  const old = new Set(oldRecords(places, keep, withForeign))
  const isListed = (folder: string) =>
    old.has(folder) || (!withForeign && !places.origins.isSigned(folder))
  return all.filter(isListed).filter((folder) => !isDriven(folder))
}
