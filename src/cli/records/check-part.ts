import { UserError } from '../../base/errors.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import type { Part } from '../../views/replay.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { stepOf } from './choose-run.ts'

/** Refuses a part that a run does not have, and says what it has. */
export function checkPart(run: RunBrief, { step, iteration, task, attempt }: Part): void {
  if (step !== undefined) stepOf(run, step)
  // It may still start while the user follows the run.
  if (run.status === 'running' || run.status === 'waiting') return
  if (task !== undefined) checkTask(run, task, attempt)
  if (iteration !== undefined) checkIteration(run, step, iteration)
}

function checkTask({ id, folder }: RunBrief, task: string, attempt: number | undefined): void {
  let last = 0
  for (const event of readEventsOf(folder, ['task_started'])) {
    if (event.task !== task) continue
    if (attempt === undefined || event.attempt === attempt) return
    last = Math.max(last, event.attempt)
  }
  const message =
    last === 0
      ? `Run ${id} has no task '${task}' that was begun.`
      : `Task ${task} of run ${id} has no attempt ${attempt}: it was begun ${describeTimes(last)}.`
  throw new UserError(message, `See: forkhestra show ${id}`)
}

function describeTimes(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function checkIteration({ id, folder }: RunBrief, step: number | undefined, wanted: number): void {
  let last = 0
  for (const event of readEventsOf(folder, ['iteration_started'])) {
    if (step !== undefined && event.step !== step) continue
    if (event.iteration === wanted) return
    last = Math.max(last, event.iteration)
  }
  const what = step === undefined ? `Run ${id}` : `Step ${step} of run ${id}`
  const rest = last === 0 ? 'none was begun' : `the last is iteration ${last}`
  throw new UserError(`${what} has no iteration ${wanted}: ${rest}.`, `See: forkhestra show ${id}`)
}
