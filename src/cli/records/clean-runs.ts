import { basename } from 'node:path'
import { NotNow, errorText } from '../../base/errors.ts'
import { printable } from '../../base/printable.ts'
import { holderOf } from '../../journal/run-lock.ts'
import { oldRecords, pruneRuns, type WhyWanted } from '../../journal/runs.ts'
import { counted } from '../../base/amounts.ts'
import { UsageError, type Input } from '../command.ts'
import { readNumber, recordsOf, type Places } from './place.ts'
import { whyWanted } from './with-queue.ts'

const TRACKED = 'git tracks it; to remove it: git rm -r'

/** The verb `clean`. */
export async function cleanRuns(input: Input): Promise<number> {
  const keep = readNumber(input, 'keep', 0)
  if (keep === undefined) {
    throw new UsageError('How many runs are to be kept?', 'Write e.g. forkhestra clean --keep 10')
  }
  const places = recordsOf(input)
  const [root] = places.roots
  const isDry = input.flag('dry-run')
  const isTracked = (folder: string) => places.origins.strictly(folder) === 'tracked'
  const whyNot = input.flag('with-queues') ? () => undefined : whyWanted
  const isWanted = (folder: string) => (isTracked(folder) ? TRACKED : whyNot(folder))
  const old = findOld(places, keep)
  const kept = old.flatMap(({ id, folder }) => {
    const why = isWanted(folder)
    return why === undefined ? [] : [{ id, why }]
  })
  const removable = () =>
    old.map(({ id }) => id).filter((id) => !kept.some((each) => each.id === id))
  const removed = isDry ? removable() : removeOld(places, keep, isWanted)
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
  if (kept.some(({ why }) => why !== TRACKED)) console.log('To remove those, too: --with-queues')
  return 0
}

/** What `pruneRuns` would remove: a run that is driven is never touched. */
function findOld(places: Places, keep: number) {
  return oldRecords(places, keep)
    .filter((folder) => (holderOf(folder)?.life ?? 'dead') === 'dead')
    .map((folder) => ({ id: basename(folder), folder }))
}

function removeOld(places: Places, keep: number, isWanted: WhyWanted): string[] {
  try {
    return pruneRuns(places, keep, isWanted)
  } catch (error) {
    throw new NotNow(`Not all records could be removed: ${errorText(error)}`)
  }
}
