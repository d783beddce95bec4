import { NotNow, errorCode } from '../../base/errors.ts'
import { formatBytes } from '../../base/files.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { readOutput } from '../../records/journal/read-run.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { isPart, Replay, type Part } from '../../views/replay.ts'
import type { View } from '../../views/screen.ts'
import { followEvents, type FollowEnd } from './follow-events.ts'
import { structuredSteps } from './recorded-plan.ts'
import { UntoldOutput } from './unlogged-output.ts'

/** Where a replayed run is shown. */
export interface Audience {
  readonly view: View
  readonly kind: 'plain' | 'json' | 'raw'
  readonly warn: (text: string) => void
  /** Called with each event before the view. */
  readonly onEvent?: (event: RunEvent) => void
}

interface Options {
  readonly part: Part
  readonly isFollowed: boolean
  /** Nobody listens any longer. */
  readonly closed: AbortSignal
}

/** Tells a run from its record, and, where it is followed, until there is nothing more to come. */
export async function replayRun(
  folder: string,
  audience: Audience,
  { part, isFollowed, closed }: Options,
): Promise<FollowEnd | 'closed'> {
  const teller = makeTeller(folder, audience, part)
  const tellRest = async () => {
    const rest = untold.take()
    if (rest !== undefined) await teller.show(rest)
  }
  const untold = new UntoldOutput(folder)
  const events = followEvents(folder, isFollowed, () => holderOf(folder)?.life)
  try {
    for (;;) {
      const { done, value } = await events.next()
      if (closed.aborted) return 'closed'
      if (done === true) {
        await tellRest()
        teller.end()
        return value
      }
      if (value.type === 'run_resumed') await tellRest()
      untold.note(value)
      await teller.show(value)
    }
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error
    throw new NotNow(`The record ${folder} has been removed.`)
  } finally {
    await events.return('read')
  }
}

function makeTeller(folder: string, { view, kind, warn, onEvent }: Audience, part: Part) {
  const told = kind === 'raw' ? new Set() : structuredSteps(folder)
  const toldTasks = new Set<string>()
  const replay = new Replay(view, part, {
    read: (event) => readOutput(folder, event),
    onMissing: (bytes) => warn(`${formatBytes(bytes)} are not in the record`),
    isInEvents: ({ step, stream, task, scope }) =>
      stream === 'out' && (task === undefined ? told.has(step) : toldTasks.has(scope.join('/'))),
  })
  return {
    async show(event: RunEvent): Promise<void> {
      // Plain views need it for the names of the steps; it does not belong to the part.
      if (isPart(part) && kind !== 'plain' && event.type === 'run_started') return
      if (event.type === 'task_started' && event.isStructured === true && kind !== 'raw') {
        toldTasks.add(event.scope.join('/'))
      }
      onEvent?.(event)
      await replay.show(event)
    },
    end: () => replay.end(),
  }
}
