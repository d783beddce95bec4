import { NotNow, errorCode } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { scopeKey } from '../../records/journal/paths.ts'
import { readOutput } from '../../records/journal/read-run.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { isOfPart, isPart, Replay, type RunPart } from '../../views/replay.ts'
import type { View } from '../../views/view.ts'
import { followEvents, type FollowEnd } from './follow-events.ts'
import { quoteResult, RecordedResults } from './recorded-results.ts'
import { structuredSteps } from './recorded-plan.ts'
import { UnloggedOutput } from './unlogged-output.ts'

/** Where a replayed run is shown. */
export interface ReplayTarget {
  readonly view: View
  readonly kind: 'plain' | 'json' | 'raw'
  readonly warn: (text: string) => void
  /** Called with each event before the view. */
  readonly onEvent?: (event: RunEvent) => void
  /** Called when everything so far has been shown. */
  readonly onCaughtUp?: () => void | Promise<void>
  /** How much of the results of tools is shown; nothing by default. */
  readonly results?: 'cut' | 'whole'
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
  const unlogged = new UnloggedOutput(folder)
  const { show, end } = makeReplay(folder, target, part, unlogged)
  const lifeOfDriver = () => holderOf(folder)?.life
  const events = followEvents(folder, isFollowed, lifeOfDriver, target.onCaughtUp)
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
function makeReplay(folder: string, target: ReplayTarget, part: RunPart, unlogged: UnloggedOutput) {
  const { view, kind, warn, onEvent } = target
  const steps = kind === 'raw' ? new Set() : structuredSteps(folder)
  const tasks = new Set<string>()
  const replay = new Replay(view, part, {
    read: (event) => readOutput(folder, event),
    onMissing: (bytes) => warn(`${formatBytes(bytes)} missing from the record`),
    isInEvents: ({ step, stream, task, scope }) =>
      stream === 'out' && (task === undefined ? steps.has(step) : tasks.has(scopeKey(scope))),
  })
  const results = new RecordedResults(folder, unlogged)
  const showResult = (event: EventOf<'tool_ended'>) => {
    if (target.results === undefined || !isOfPart(event, part)) return
    const { scope, step, iteration, attempt } = event
    const bytes = Buffer.from(quoteResult(results.take(event), target.results === 'whole'))
    return view.output({ scope, step, iteration, attempt, stream: 'out', bytes })
  }
  const show = async (event: RunEvent) => {
    // Views for people need it for the names of the steps, although it is not in the requested part.
    if (isPart(part) && kind === 'json' && event.type === 'run_started') return
    if (event.type === 'task_started' && event.isStructured === true && kind !== 'raw')
      tasks.add(scopeKey(event.scope))
    onEvent?.(event)
    await replay.show(event)
    if (event.type === 'tool_ended') await showResult(event)
  }
  return { show, end: () => replay.end() }
}
