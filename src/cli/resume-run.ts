import { counted } from '../base/amounts.ts'
import { prepareResume } from '../host/resume-run.ts'
import { withQueueState } from '../host/records/with-queue.ts'
import type { QueuedBrief } from '../host/records/describe-run.ts'
import type { RunBrief } from '../records/journal/runs.ts'
import { orphansOption, resumeCommand } from '../views/runs.ts'
import { UsageError, type Input } from './command.ts'
import { frontEndOf, notice } from './front-end.ts'
import { readOverrides } from './overrides.ts'
import { runArgument } from './records/choose-run.ts'

/** The command `resume`: continues a recorded plan where its record ends. */
export async function resumeRun(input: Input): Promise<number> {
  const run = runArgument(input)
  const trustRecord = input.flag('trust-record')
  if (trustRecord && run === undefined)
    throw new UsageError('--trust-record needs the id of the run.', 'See: forkhestra runs')
  const found = await prepareResume(frontEndOf(input), {
    run,
    trustRecord,
    overrides: readOverrides(input),
    prompt: input.text('prompt'),
    newQueue: input.flag('new-queue'),
    killOrphans: input.flag('kill-orphans'),
    anyway: input.flag('anyway'),
    showForeign: async (foreign) => {
      const { showForeignPlan } = await import('./records/show-foreign-plan.ts')
      await showForeignPlan(foreign, input)
    },
  })
  if (found.kind === 'finished') return finish(found.run, found.isChat, input)
  const { runInTerminal, viewOptions } = await import('./run-in-terminal.ts')
  try {
    return await runInTerminal(found.ready, {
      ...viewOptions(input),
      mentionsQueues: true,
    })
  } finally {
    found.release()
  }
}

/** A run with no steps left may have tasks that an earlier process started. */
async function finish(run: RunBrief, isChat: boolean, input: Input): Promise<number> {
  const { id, folder } = run
  const { resumeQueue } = await import('./queue/run-queue.ts')
  const code = await resumeQueue(input, id, folder)
  if (code !== undefined) return code
  if (!isChat) return describeFinished(withQueueState(run))
  const command = `${resumeCommand(id, true)}${orphansOption(withQueueState(run))}`
  notice(`Run ${id} is a chat; continue it with: ${command}`)
  return 0
}

/** Reports that no step is left to resume, with the commands for what is left in its queue. */
async function describeFinished(run: QueuedBrief): Promise<number> {
  const { id, status, counts } = run
  const { queued = 0 } = counts ?? {}
  const failed = counts === undefined ? 0 : counts.failed - counts.redone - counts.cancelled
  const isDone = status === 'complete'
  const { readFailedTasks } = await import('../host/queue/failed-tasks.ts')
  const again = failed === 0 ? { shown: [], more: 0 } : await readFailedTasks(run)
  const lines = [
    isDone ? 'is complete: nothing to resume.' : 'has no steps to resume.',
    ...(failed === 0
      ? []
      : [`has ${counted(failed, 'failed task')}; see why: forkhestra show ${id}`]),
    ...again.shown.map(({ name, push }) => `does not retry ${name}; push it again: ${push}`),
    ...(again.more === 0 ? [] : [`does not retry ${counted(again.more, 'more failed task')}`]),
    ...(queued === 0
      ? []
      : [`has ${counted(queued, 'queued task')}; start: forkhestra run-queue --run ${id}`]),
  ]
  for (const line of lines) notice(`Run ${id} ${line}`)
  return isDone || failed === 0 ? 0 : 1
}
