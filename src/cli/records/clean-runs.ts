import { basename } from 'node:path'
import { NotNow, errorText } from '../../base/errors.ts'
import { printable } from '../../base/printable.ts'
import { holderOf } from '../../journal/run-lock.ts'
import { pruneRuns, recordsIn, type WhyWanted } from '../../journal/runs.ts'
import { counted } from '../../base/amounts.ts'
import { UsageError, type Input } from '../command.ts'
import { readNumber, recordsOf, type Roots } from './place.ts'
import { whyWanted } from './with-queue.ts'

/** The verb `clean`. */
export async function cleanRuns(input: Input): Promise<number> {
  const keep = readNumber(input, 'keep', 0)
  if (keep === undefined) {
    throw new UsageError('How many runs are to be kept?', 'Write e.g. forkhestra clean --keep 10')
  }
  const roots = recordsOf(input)
  const [root] = roots
  const isDry = input.flag('dry-run')
  const isWanted = input.flag('with-queues') ? () => undefined : whyWanted
  const old = findOld(roots, keep)
  const kept = old.flatMap(({ id, folder }) => {
    const why = isWanted(folder)
    return why === undefined ? [] : [{ id, why }]
  })
  const removable = () =>
    old.map(({ id }) => id).filter((id) => !kept.some((each) => each.id === id))
  const removed = isDry ? removable() : removeOld(roots, keep, isWanted)
  if (input.flag('json')) {
    console.log(JSON.stringify({ root, removed, kept, isDryRun: isDry }))
    return 0
  }
  for (const { id, why } of kept) console.log(`kept: ${printable(id)}: ${printable(why)}`)
  const verb = isDry ? 'would be removed' : 'removed'
  for (const id of removed) console.log(`${verb}: ${printable(id)}`)
  console.log(
    removed.length === 0
      ? `There is nothing to remove in ${root}`
      : `${counted(removed.length, 'run')} ${verb}`,
  )
  if (kept.length > 0) console.log('To remove those, too: --with-queues')
  return 0
}

/** What `pruneRuns` would remove: a run that is driven is never touched. */
function findOld(roots: Roots, keep: number) {
  return recordsIn(roots)
    .slice(keep)
    .filter((folder) => (holderOf(folder)?.life ?? 'dead') === 'dead')
    .map((folder) => ({ id: basename(folder), folder }))
}

function removeOld(roots: Roots, keep: number, isWanted: WhyWanted): string[] {
  try {
    return pruneRuns(roots, keep, isWanted)
  } catch (error) {
    throw new NotNow(`Not all records could be removed: ${errorText(error)}`)
  }
}
