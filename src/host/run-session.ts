import { Mask, type MaskStream } from '../base/secrets/mask.ts'
import type { EventBody, OutputChunk, Stamp } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { next } from '../records/events/fold.ts'
import { NO_EVENTS, type RunState } from '../records/events/state.ts'
import { Control } from '../records/journal/control.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import type { RunLock } from '../records/journal/run-lock.ts'
import { RunRecord, type RecordProblem } from '../records/journal/run-record.ts'
import { removeOldRuns } from '../records/journal/runs.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { readPromptText } from '../chain/prompts/prompt-file.ts'
import { Cgroup } from '../base/linux/cgroup.ts'
import { adoptOrphans } from '../base/linux/children.ts'
import type { Ports } from '../run/ports.ts'
import { runPlan } from '../run/chain/run-plan.ts'
import { makeTaskPort } from './task-port.ts'
import { VERSION } from './version.ts'
import { describeNotice } from '../views/notice.ts'
import type { View } from '../views/view.ts'
import { conversationIn } from './conversation-path.ts'
import { Notifier } from './notify/notifier.ts'
import { makeQueuePort } from './queue/port.ts'
import { whyWanted } from './records/unfinished-queues.ts'
import { findMissingSecrets, missingSecretsWarning, secretsOf, webhooksIn } from './secrets.ts'

/** How often the record is updated while there are no events. */
const TICK_MS = 1000

/** How a front end executes a plan. */
export interface Session {
  /** The environment that agents start from. */
  readonly env: Readonly<Record<string, string>>
  readonly stamp: Stamp
  /** Makes the view of the run, which may read its state and add warnings. */
  readonly view: (run: LiveRun) => View
  readonly stop: AbortSignal
  readonly force: AbortSignal
  /** Rings the bell of the terminal, if there is one. */
  readonly ring?: () => void
  /** All agents that may get a queued task. */
  readonly agents?: Parameters<typeof secretsOf>[2]
  /** The configuration, if the plan was made from it. */
  readonly content?: ChainsConfig | undefined
  /** Set for a run that another process began. */
  readonly resumed?: Resumed | undefined
  /** Whether this process and its descendants serve only this run. */
  readonly ownsProcess: boolean
  /** Whether the run is kept on disk. */
  readonly isRecorded?: boolean
  /** Executes the plan instead of `runPlan`; `noRecord` says why there is no record. */
  readonly work?: (plan: Plan, ports: Ports, noRecord?: string) => Promise<void>
}

/** A plan that is ready to run; the front end adds the rest of `session`. */
export interface ReadyRun {
  readonly plan: Plan
  readonly warnings: readonly string[]
  readonly session: Pick<Session, 'env' | 'stamp' | 'agents' | 'content' | 'resumed'>
}

interface Resumed {
  readonly folder: string
  readonly lock: RunLock
  readonly state: RunState
  /** How long the killed process worked after its last event. */
  readonly lostMs?: number | undefined
}

/** A run as its view sees it. */
export interface LiveRun {
  readonly state: RunState
  warn(text: string): void
}

/** Executes a plan: every event is masked, recorded and shown. Returns the final state. */
export async function runSession(
  { plan, warnings }: Pick<ReadyRun, 'plan' | 'warnings'>,
  session: Session,
): Promise<RunState> {
  const { env, agents, content, resumed, stop, force, ownsProcess } = session
  const hasCgroup = ownsProcess && env['FORKHESTRA_CGROUP'] !== 'off'
  const cgroup = hasCgroup ? Cgroup.enter(plan.run) : undefined
  const record = await openRecord(plan, session)
  const noRecord = record.whyMissing
  const mask = new Mask({ ...webhooksIn(content), ...secretsOf(plan, env, agents) })
  const reporter = new Reporter(record, session, mask)
  const control = new Control(record.folder)
  control.clear()
  const lacks = findMissingSecrets(plan, mask, env, content)
  const isNews = lacks !== undefined && resumed === undefined
  const notifier = new Notifier({
    plan,
    env,
    mask: (data) => mask.data(data),
    warn: (text) => reporter.warn(text),
    ring: session.ring,
    force,
  })
  reporter.notifier = notifier
  for (const text of [...warnings, ...(isNews ? [missingSecretsWarning(lacks)] : [])])
    reporter.warn(text)
  if (ownsProcess) adoptOrphans()
  const ticking = setInterval(() => reporter.tick(), TICK_MS)
  const ports: Ports = {
    emit: (body) => reporter.emit(body),
    mask: (data) => mask.data(data),
    maskStream: () => mask.stream(),
    state: () => reporter.state,
    describe: (event) => mask.data(describeNotice(event, reporter.stateAfter(event), plan)),
    output: (chunk) => reporter.output(chunk),
    keepPrompt: (hash, text) => reporter.keepPrompt(hash, text),
    control,
    readPrompt: readPromptText,
    tasks: makeTaskPort(plan.cwd, plan.run, env),
    tasksIn: (cwd) => makeTaskPort(cwd, plan.run, env),
    env,
    stop,
    force,
    ownsDescendants: ownsProcess,
    ...(cgroup === undefined ? {} : { cgroup }),
    queue: makeQueuePort(record.folder, plan, env),
    record: record.folder,
    recordPlace: () => record.place,
    conversation: (place) => conversationIn(record.folder, place),
    lacks,
    lostMs: resumed?.lostMs,
    version: VERSION,
  }
  let left: Promise<void> | undefined
  try {
    await (session.work?.(plan, ports, noRecord) ?? runPlan(plan, ports))
  } finally {
    // This is slow, so it runs in parallel.
    left = notifier.close().then(async () => (await cgroup)?.leave())
    clearInterval(ticking)
    control.clear()
    reporter.close()
  }
  await left
  return reporter.state
}

async function openRecord(
  { run, cwd }: Plan,
  { env, stamp, resumed, isRecorded = true }: Session,
): Promise<RunRecord> {
  const places = recordPlaces({ folder: cwd, searched: [cwd] }, env)
  if (resumed !== undefined)
    return RunRecord.reopen(resumed.folder, stamp, resumed.lock, places.origins)
  if (!isRecorded) return RunRecord.none(places)
  const record = RunRecord.begin(places, run, stamp)
  await removeOldRuns(places, whyWanted)
  return record
}

/** Masks events and output, passes them to the record and the view, and keeps the state. */
class Reporter {
  readonly #record: RunRecord
  readonly #view: View
  readonly #stamp: Stamp
  readonly #mask: Mask
  readonly #masked: MaskedOutput
  /** Hashes of the recorded prompts. */
  readonly #kept = new Set<string>()
  #isOver = false
  notifier: Notifier | undefined
  state: RunState

  constructor(record: RunRecord, { view, stamp, resumed }: Session, mask: Mask) {
    this.#record = record
    this.#stamp = stamp
    this.#mask = mask
    this.#masked = new MaskedOutput(mask)
    this.state = resumed?.state ?? NO_EVENTS
    this.#view = view(this)
  }

  /** After the end of the run, a warning is only shown. */
  warn(text: string): void {
    const body = { type: 'warning' as const, text }
    if (this.#isOver) this.#view.show(this.#stamp(this.#mask.data(body)))
    else this.emit(body)
  }

  /** The state after an event that may not be emitted yet. */
  stateAfter(event: RunEvent): RunState {
    return event.type === 'run_ended' ? next(this.state, event) : this.state
  }

  emit(body: EventBody): RunEvent {
    if (body.type === 'iteration_ended' || body.type === 'task_ended') {
      for (const chunk of this.#masked.end(body.scope)) void this.#pass(chunk)
    }
    if (body.type === 'run_ended') this.#settle()
    const event = this.#stamp(this.#mask.data(body))
    const before = this.state
    this.state = next(before, event)
    this.#record.append(event)
    this.#record.checkpoint(this.state)
    this.#view.show(event, this.state)
    this.#reportProblems()
    this.#isOver ||= event.type === 'run_ended'
    this.notifier?.show(event, { before, after: this.state })
    return event
  }

  output(chunk: OutputChunk): void | Promise<void> {
    const masked = this.#masked.push(chunk)
    return masked === undefined ? undefined : this.#pass(masked)
  }

  keepPrompt(hash: string, text: string): void {
    if (this.#kept.has(hash)) return
    this.#kept.add(hash)
    this.#record.prompt(hash, this.#mask.text(text))
  }

  tick(): void {
    this.#record.checkpoint(this.state)
    this.#record.flush()
    this.#view.tick?.()
    this.#reportProblems()
  }

  close(): void {
    this.#isOver = true
    this.#record.checkpoint(this.state)
    this.#record.close()
    for (const problem of this.#record.takeProblems()) {
      const body = describeProblem(problem)
      if (problem.kind !== 'back') this.#view.show(this.#stamp(body))
    }
  }

  /** Called before `run_ended`, so that the summary can mention problems of the record. */
  #settle(): void {
    this.#record.settle()
    this.#reportProblems()
  }

  #pass(chunk: OutputChunk): void | Promise<void> {
    this.#record.output(chunk)
    return this.#view.output(chunk)
  }

  #reportProblems(): void {
    for (const problem of this.#record.takeProblems()) this.emit(describeProblem(problem))
  }
}

function describeProblem({ kind, why }: RecordProblem): EventBody {
  if (kind === 'lost') return { type: 'record_lost', why }
  if (kind === 'torn') return { type: 'record_lost', why, partly: true }
  const texts = {
    behind: `the record cannot be written at the moment: ${why}. The run continues and keeps retrying`,
    changed:
      'another program changed the events.ndjson of this run: earlier events may be missing from its record. The run continues, and can still be resumed',
    back: 'the record can be written again',
    gaps: `the record is incomplete because it could not be written for a while (${why}): receipts or some output are missing, but nothing that resume needs`,
  }
  return { type: 'warning', text: texts[kind] }
}

/** Masks the secrets in the output of agents, with one masking stream for each of their streams. */
class MaskedOutput {
  readonly #mask: Mask
  readonly #open = new Map<string, { readonly stream: MaskStream; readonly last: OutputChunk }>()

  constructor(mask: Mask) {
    this.#mask = mask
  }

  /** The part that may be shown now; undefined if there is none yet. */
  push(chunk: OutputChunk): OutputChunk | undefined {
    const key = `${chunk.scope.join('/')} ${chunk.stream}`
    const open = this.#open.get(key) ?? { stream: this.#mask.stream(), last: chunk }
    this.#open.set(key, open)
    return withBytes(chunk, open.stream.push(chunk.bytes))
  }

  /** The output held back until the end of an iteration. */
  end(scope: readonly string[]): OutputChunk[] {
    return (['out', 'err'] as const).flatMap((name) => {
      const key = `${scope.join('/')} ${name}`
      const open = this.#open.get(key)
      this.#open.delete(key)
      const rest = open === undefined ? undefined : withBytes(open.last, open.stream.end())
      return rest === undefined ? [] : [rest]
    })
  }
}

function withBytes(chunk: OutputChunk, bytes: Uint8Array): OutputChunk | undefined {
  if (bytes.length === 0) return undefined
  return bytes === chunk.bytes ? chunk : { ...chunk, bytes }
}
