import { errorText } from '../../base/errors.ts'
import { printable } from '../../base/printable.ts'
import { pruneRuns, readRuns } from '../../journal/runs.ts'
import { counted } from '../../base/amounts.ts'
import { UsageError, type Input } from '../command.ts'
import { NotNow, readNumber, recordsOf } from './place.ts'

/** The verb `clean`. */
export async function cleanRuns(input: Input): Promise<number> {
  const keep = readNumber(input, 'keep', 0)
  if (keep === undefined) {
    throw new UsageError('How many runs are to be kept?', 'Write e.g. forkhestra clean --keep 10')
  }
  const root = recordsOf(input)
  const isDry = input.flag('dry-run')
  const removed = isDry ? findOld(root, keep) : removeOld(root, keep)
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, removed, isDryRun: isDry }))
    return 0
  }
  const verb = isDry ? 'would be removed' : 'removed'
  for (const id of removed) console.log(`${verb}: ${printable(id)}`)
  console.log(
    removed.length === 0
      ? `There is nothing to remove in ${root}`
      : `${counted(removed.length, 'run')} ${verb}`,
  )
  return 0
}

/** What `pruneRuns` would remove: a run that is driven is never touched. */
function findOld(root: string, keep: number): string[] {
  const { runs, broken } = readRuns(root)
  const driven = new Set(runs.flatMap(({ id, holder }) => (holder === undefined ? [] : [id])))
  return [...runs.map(({ id }) => id), ...broken]
    .toSorted()
    .toReversed()
    .slice(keep)
    .filter((id) => !driven.has(id))
}

function removeOld(root: string, keep: number): string[] {
  try {
    return pruneRuns(root, keep)
  } catch (error) {
    throw new NotNow(`Not all records could be removed: ${errorText(error)}`)
  }
}
