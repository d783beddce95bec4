import { constants } from 'node:os'
import type { EventBody, Stamp } from '../../events/event.ts'
import type { RunEvent } from '../../events/schema.ts'
import { JsonView } from '../../views/json.ts'
import { PlainView } from '../../views/plain.ts'
import { RawView } from '../../views/replay.ts'
import { Terminal } from '../../views/terminal.ts'
import { UsageError, type Input } from '../command.ts'
import { chooseRun, readNumber, recordsOf, stepOf } from './place.ts'
import { replayRun, type Audience } from './replay-run.ts'

/** The verb `logs`: exit code 1 where a run that is followed dies without an end. */
export async function printLogs(input: Input): Promise<number> {
  if (input.flag('raw') && input.flag('json')) {
    throw new UsageError('--raw and --json exclude each other.')
  }
  const part = { step: readNumber(input, 'step'), iteration: readNumber(input, 'iteration') }
  const run = chooseRun(input, recordsOf(input))
  if (part.step !== undefined) stepOf(run, part.step)
  leaveOnSignals()
  const closed = new AbortController()
  const terminal = new Terminal({
    uncut: input.flag('verbose') || input.flag('raw'),
    onLost: () => undefined,
    onClosed: () => closed.abort(),
  })
  const end = await replayRun(run.folder, makeAudience(input, terminal), {
    part,
    isFollowed: input.flag('follow'),
    closed: closed.signal,
  })
  if (end === 'dead') {
    terminal.warn('[forkhestra] The forkhestra of this run is gone, and the run has not ended.')
    terminal.warn(`[forkhestra] Go on with: forkhestra resume ${run.id}`)
  }
  await terminal.close({ stop: closed.signal, force: closed.signal })
  return end === 'dead' ? 1 : 0
}

function makeAudience(input: Input, terminal: Terminal): Audience {
  const warn = (text: string) => terminal.warn(`[forkhestra] ${text}`)
  if (input.flag('raw')) return { view: new RawView(terminal), kind: 'raw', warn }
  if (!input.flag('json')) {
    return { view: new PlainView(terminal, input.flag('verbose')), kind: 'plain', warn }
  }
  let current: RunEvent | undefined
  // What was said then is not said now.
  const stamp: Stamp = (body: EventBody) => {
    const { at = '', run = '', worker = '' } = current ?? {}
    return Object.assign({ type: body.type, at, run, worker }, body)
  }
  const onEvent = (event: RunEvent) => void (current = event)
  return { view: new JsonView(terminal, stamp), kind: 'json', warn, onEvent }
}

/** Nothing is to be put in order: a run does not notice who reads its record. */
function leaveOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
}
