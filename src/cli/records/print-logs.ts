import { constants } from 'node:os'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { indentRest } from '../../base/terminal/printable.ts'
import { quoterInside } from '../../engines/marker/line-quoter.ts'
import type { EventBody, Stamp } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { JsonView } from '../../views/json.ts'
import { PlainView } from '../../views/plain.ts'
import { describeCounts, resumeCommand } from '../../views/runs.ts'
import { isOfPart, RawView, type RunPart } from '../../views/replay.ts'
import { LogLines } from '../../views/log-lines.ts'
import { Terminal } from '../../views/terminal.ts'
import type { Output } from '../../views/view.ts'
import { cwdOption } from '../../views/describe.ts'
import { UsageError, type Input } from '../command.ts'
import { CannotPrint } from '../print.ts'
import { currentProject } from '../../host/project.ts'
import { isChat } from '../../host/records/plan-in.ts'
import { reportingDamage } from '../../host/records/foreign.ts'
import { chooseRun, findSteps, readCopy, readNumber, readSince, recordsFor } from './choose-run.ts'
import { replayRun, type ReplayTarget } from '../../host/records/replay-run.ts'
import { withQueueState } from '../../host/records/with-queue.ts'

/** The command `logs`: exit code 1 if a followed run dies. */
export async function printLogs(input: Input, isFollowed = input.flag('follow')): Promise<number> {
  if (input.flag('raw') && input.flag('json')) {
    throw new UsageError('--raw and --json cannot be combined.')
  }
  if (input.flag('timestamps') && input.flag('json'))
    throw new UsageError('--timestamps is not needed with --json: each event has its time.')
  const part = readPart(input)
  const run = chooseRun(input, recordsFor(input))
  return reportingDamage(run, () => print(input, run, part, isFollowed))
}

async function print(
  input: Input,
  run: RunBrief,
  part: RunPart,
  isFollowed: boolean,
): Promise<number> {
  checkPart(run, part)
  leaveOnSignals()
  const closed = new AbortController()
  let problem: unknown
  const lose = (error: unknown) => void (problem ??= error)
  const terminal = new Terminal({
    env: process.env,
    makeQuoter: quoterInside(process.env),
    uncut: input.flag('verbose') || input.flag('raw'),
    onLost: lose,
    onClosed: (error) => {
      lose(error)
      closed.abort()
    },
  })
  const lines = new LogLines(terminal, {
    hasTimes: input.flag('timestamps'),
    tail: readNumber(input, 'tail', 0),
    since: readSince(input),
  })
  const isPartly = ['timestamps', 'tail', 'since'].some(
    (name) => input.flag(name) || input.text(name) !== undefined,
  )
  const target = makeTarget(input, isPartly ? lines : terminal, run)
  const onEvent = (event: RunEvent) => {
    lines.begin(event.at)
    target.onEvent?.(event)
  }
  const onCaughtUp = () => lines.catchUp()
  const end = await replayRun(
    run.folder,
    { ...target, onEvent, onCaughtUp },
    { part, isFollowed, closed: closed.signal },
  )
  await lines.end()
  if (!input.flag('json') && !input.flag('raw') && end !== 'closed') printQueue(run, terminal)
  if (end === 'dead') {
    terminal.warn('[forkhestra] The process of this run is dead, and the run has not ended.')
    terminal.warn(`[forkhestra] Resume it: ${resumeCommand(run.id, isChat(run.folder))}`)
  }
  await terminal.close({ stop: closed.signal, force: closed.signal })
  // The reader may have closed the pipe on purpose.
  if (problem !== undefined && errorCode(problem) !== 'EPIPE') {
    throw new CannotPrint(
      `Cannot write the output: ${errorText(problem)}`,
      'The record is unchanged; write the output to another place.',
    )
  }
  return end === 'dead' ? 1 : 0
}

/** The state of a run that is only a queue. */
function printQueue(run: RunBrief, terminal: Terminal): void {
  const { counts, state } = withQueueState(run)
  if (counts === undefined || state.steps.length > 0) return
  const isOpen = counts.queued + counts.ready + counts.running > 0 && run.holder === undefined
  const where = cwdOption(state.cwd, currentProject(process.env))
  const next = isOpen ? `; to start: forkhestra run-queue --run ${run.id}${where}` : ''
  terminal.line(`[forkhestra] Queue: ${describeCounts(counts)}${next}`)
}

function readPart(input: Input): RunPart {
  const [step, iteration] = [readNumber(input, 'step'), readNumber(input, 'iteration')]
  const [task, attempt] = [input.text('task'), readNumber(input, 'attempt')]
  if (task === undefined && attempt !== undefined) {
    throw new UsageError('--attempt needs --task.')
  }
  if (task !== undefined && (step !== undefined || iteration !== undefined)) {
    throw new UsageError('--task cannot be combined with --step or --iteration.')
  }
  return { step, copy: readCopy(input), iteration, task, attempt }
}

/** Refuses a part that the run does not have, and names the last one. */
function checkPart(run: RunBrief, part: RunPart): void {
  const { step, copy, iteration, task, attempt } = part
  if (step !== undefined) findSteps(run, step, copy)
  // It may still start while the run is followed.
  if (run.status === 'running' || run.status === 'waiting') return
  if (task !== undefined) checkTask(run, task, attempt)
  if (iteration !== undefined) checkIteration(run, part, iteration)
}

function checkTask({ id, folder }: RunBrief, task: string, attempt: number | undefined): void {
  const attempts = [...readEventsOf(folder, ['task_started'])]
    .filter((event) => event.task === task)
    .map((event) => event.attempt)
  if (attempt === undefined ? attempts.length > 0 : attempts.includes(attempt)) return
  const last = Math.max(...attempts)
  const message =
    attempts.length === 0
      ? `Run ${id} has no task '${task}' that was started.`
      : `Task ${task} of run ${id} has no attempt ${attempt}: it was started ${last === 1 ? 'once' : `${last} times`}.`
  throw new UserError(message, `See: forkhestra show ${id}`)
}

function checkIteration({ id, folder }: RunBrief, { step, copy }: RunPart, wanted: number): void {
  const iterations = [...readEventsOf(folder, ['iteration_started'])]
    .filter((event) => isOfPart(event, { step, copy }))
    .map((event) => event.iteration)
  if (iterations.includes(wanted)) return
  const what = step === undefined ? `Run ${id}` : `Step ${step} of run ${id}`
  const rest =
    iterations.length === 0
      ? 'none was started'
      : `the last is iteration ${Math.max(...iterations)}`
  throw new UserError(`${what} has no iteration ${wanted}: ${rest}.`, `See: forkhestra show ${id}`)
}

function makeTarget(input: Input, terminal: Output, { folder }: RunBrief): ReplayTarget {
  const warn = (text: string) => terminal.warn(indentRest(`[forkhestra] ${text}`))
  if (input.flag('raw'))
    return { view: new RawView(terminal, input.text('task')), kind: 'raw', warn }
  if (!input.flag('json')) {
    // A named task is shown in full.
    const isVerbose = input.flag('verbose') || input.text('task') !== undefined
    const view = new PlainView(terminal, isVerbose, { isChat: isChat(folder) })
    const count = input.count('verbose')
    const results = count === 0 ? {} : ({ results: count === 1 ? 'cut' : 'whole' } as const)
    return { view, kind: 'plain', warn, ...results }
  }
  let current: RunEvent | undefined
  // The view's text gets the time of its event.
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
