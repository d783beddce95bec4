import { NotNow, errorCode } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { scopeKey } from '../../records/journal/paths.ts'
import { readOutput } from '../../records/journal/read-run.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { isPart, Replay, type RunPart } from '../../views/replay.ts'
import type { View } from '../../views/view.ts'
import { followEvents, type FollowEnd } from './follow-events.ts'
import { structuredSteps } from './recorded-plan.ts'
import { UnloggedOutput } from './unlogged-output.ts'

/** Where a replayed run is shown. */
export interface ReplayTarget {
  readonly view: View
  readonly kind: 'plain' | 'json' | 'raw'
  readonly warn: (text: string) => void
  /** Called with each event before the view. */
  readonly onEvent?: (event: RunEvent) => void
}

interface Options {
  readonly part: RunPart
  readonly isFollowed: boolean
  /** Aborted once the reader of the output is gone. */
  readonly closed: AbortSignal
}

/** Shows a run from its record and, if it is followed, until its process ends. */
export async function replayRun(
  folder: string,
  target: ReplayTarget,
  { part, isFollowed, closed }: Options,
): Promise<FollowEnd | 'closed'> {
  const { show, end } = makeReplay(folder, target, part)
  const unlogged = new UnloggedOutput(folder)
  const events = followEvents(folder, isFollowed, () => holderOf(folder)?.life)
  try {
    for (;;) {
      const { done, value } = await events.next()
      if (closed.aborted) return 'closed'
      if (done === true) {
        for (const output of unlogged.take()) await show(output)
        end()
        return value
      }
      if (value.type === 'run_resumed') for (const output of unlogged.take()) await show(output)
      unlogged.note(value)
      await show(value)
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    throw new NotNow(`The record ${folder} has been removed.`)
  } finally {
    await events.return('read')
  }
}

/** The raw output of structured agents is not shown, because events report its content. */
function makeReplay(folder: string, { view, kind, warn, onEvent }: ReplayTarget, part: RunPart) {
  const steps = kind === 'raw' ? new Set() : structuredSteps(folder)
  const tasks = new Set<string>()
  const replay = new Replay(view, part, {
    read: (event) => readOutput(folder, event),
    onMissing: (bytes) => warn(`${formatBytes(bytes)} missing from the record`),
    isInEvents: ({ step, stream, task, scope }) =>
      stream === 'out' && (task === undefined ? steps.has(step) : tasks.has(scopeKey(scope))),
  })
  const show = async (event: RunEvent) => {
    // Views for people need it for the names of the steps, although it is not in the requested part.
    if (isPart(part) && kind === 'json' && event.type === 'run_started') return
    if (event.type === 'task_started' && event.isStructured === true && kind !== 'raw')
      tasks.add(scopeKey(event.scope))
    onEvent?.(event)
    await replay.show(event)
  }
  return { show, end: () => replay.end() }
}
