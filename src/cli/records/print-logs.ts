import { constants } from 'node:os'
import { quoterInside } from '../../engines/marker/line-quoter.ts'
import type { EventBody, Stamp } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { JsonView } from '../../views/json.ts'
import { PlainView } from '../../views/plain.ts'
import { describeCounts } from '../../views/runs.ts'
import { RawView, type Part } from '../../views/replay.ts'
import { Terminal } from '../../views/terminal.ts'
import { cwdOption } from '../../views/describe.ts'
import { UsageError, type Input } from '../command.ts'
import { checkPart } from './check-part.ts'
import { currentProject } from '../../host/project.ts'
import { lookAt } from '../../host/records/foreign.ts'
import { chooseRun, readNumber, recordsFor } from './choose-run.ts'
import { replayRun, type Audience } from '../../host/records/replay-run.ts'
import { withQueue } from '../../host/records/with-queue.ts'

/** The command `logs`: exit code 1 if a followed run dies. */
export async function printLogs(input: Input): Promise<number> {
  if (input.flag('raw') && input.flag('json')) {
    throw new UsageError('--raw and --json cannot be combined.')
  }
  const part = readPart(input)
  const run = chooseRun(input, recordsFor(input))
  return lookAt(run, () => print(input, run, part))
}

async function print(input: Input, run: RunBrief, part: Part): Promise<number> {
  checkPart(run, part)
  leaveOnSignals()
  const closed = new AbortController()
  const terminal = new Terminal({
    env: process.env,
    makeQuoter: quoterInside(process.env),
    uncut: input.flag('verbose') || input.flag('raw'),
    onLost: () => undefined,
    onClosed: () => closed.abort(),
  })
  const end = await replayRun(run.folder, makeAudience(input, terminal), {
    part,
    isFollowed: input.flag('follow'),
    closed: closed.signal,
  })
  if (!input.flag('json') && !input.flag('raw') && end !== 'closed') tellQueue(run, terminal)
  if (end === 'dead') {
    terminal.warn('[forkhestra] The process of this run is dead, and the run has not ended.')
    terminal.warn(`[forkhestra] Resume it: forkhestra resume ${run.id}`)
  }
  await terminal.close({ stop: closed.signal, force: closed.signal })
  return end === 'dead' ? 1 : 0
}

/** The state of a run that is only a queue. */
function tellQueue(run: RunBrief, terminal: Terminal): void {
  const { counts, state } = withQueue(run)
  if (counts === undefined || state.steps.length > 0) return
  const isOpen = counts.queued + counts.ready + counts.running > 0 && run.holder === undefined
  const where = cwdOption(state.cwd, currentProject(process.env))
  const next = isOpen ? `; to start: forkhestra run-queue --run ${run.id}${where}` : ''
  terminal.line(`[forkhestra] Queue: ${describeCounts(counts)}${next}`)
}

function readPart(input: Input): Part {
  const [step, iteration] = [readNumber(input, 'step'), readNumber(input, 'iteration')]
  const [task, attempt] = [input.text('task'), readNumber(input, 'attempt')]
  if (task === undefined && attempt !== undefined) {
    throw new UsageError('--attempt needs --task.')
  }
  if (task !== undefined && (step !== undefined || iteration !== undefined)) {
    throw new UsageError('--task cannot be combined with --step or --iteration.')
  }
  return { step, iteration, task, attempt }
}

function makeAudience(input: Input, terminal: Terminal): Audience {
  const warn = (text: string) => terminal.warn(`[forkhestra] ${text}`)
  if (input.flag('raw'))
    return { view: new RawView(terminal, input.text('task')), kind: 'raw', warn }
  if (!input.flag('json')) {
    // Whoever names a task wants to see what it says.
    const isVerbose = input.flag('verbose') || input.text('task') !== undefined
    return { view: new PlainView(terminal, isVerbose), kind: 'plain', warn }
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

/** No cleanup is needed: reading a record does not affect its run. */
function leaveOnSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
}
