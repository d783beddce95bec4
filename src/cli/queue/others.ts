import type { Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import { recordsOf } from '../records/place.ts'
import { otherQueues } from '../records/with-queue.ts'

/** What is queued in other runs of the project is not out of sight; `run` is the one that is shown. */
export function tellOtherQueues(input: Input, run = ''): void {
  // Agents have a run of their own, and who names one means that.
  if (process.env['FORKHESTRA_RUN_ID'] || input.text('run') !== undefined) return
  const cwd = input.text('cwd')
  const option = cwd === undefined ? '' : ` --cwd ${cwd}`
  for (const line of otherQueues(recordsOf(input), run, option)) print(line)
}
