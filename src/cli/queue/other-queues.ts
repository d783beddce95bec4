import type { Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import { recordsFor } from '../records/choose-run.ts'
import { otherQueues } from '../../host/records/unfinished-queues.ts'

/** Prints what is queued in other runs of the project than `run`. */
export async function printOtherQueues(input: Input, run = ''): Promise<void> {
  // Not for agents, nor if a run is named.
  if (process.env['FORKHESTRA_RUN_ID'] || input.text('run') !== undefined) return
  const cwd = input.text('cwd')
  const option = cwd === undefined ? '' : ` --cwd ${cwd}`
  for (const line of await otherQueues(recordsFor(input), run, option)) print(line)
}
