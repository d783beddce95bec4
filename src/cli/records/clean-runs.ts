import { counted } from '../../base/amounts.ts'
import { printable, shownPath } from '../../base/terminal/printable.ts'
import * as host from '../../host/records/clean-runs.ts'
import { UsageError, type Input } from '../command.ts'
import { readNumber, recordsFor } from './choose-run.ts'

export async function cleanRuns(input: Input): Promise<number> {
  const keep = readNumber(input, 'keep', 0)
  if (keep === undefined) {
    throw new UsageError('--keep is required.', 'For example: forkhestra clean --keep 10')
  }
  const places = recordsFor(input)
  const [root] = places.roots
  const isDry = input.flag('dry-run')
  const { removed, kept, failed } = await host.cleanRuns(places, {
    keep,
    withForeign: input.flag('with-foreign'),
    withQueues: input.flag('with-queues'),
    isDry,
  })
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
  else if (failed.length === 0) console.log(`Nothing to remove in ${shownPath(root)}`)
  const options = new Set(kept.flatMap(({ why }) => optionFor(why)))
  if (options.size > 0) console.log(`To remove these as well: ${[...options].join(' ')}`)
  return code
}

function optionFor(why: string): string[] {
  if (why === host.TRACKED) return []
  return [why === host.FOREIGN ? '--with-foreign' : '--with-queues']
}
