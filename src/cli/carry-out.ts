import { errorCode, errorText } from '../base/errors.ts'
import { Mask } from '../base/secrets/mask.ts'
import type { EventBody, OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { NO_EVENTS, next, type RunState } from '../events/state.ts'
import { Control } from '../journal/control.ts'
import { recordPlaces } from '../journal/record-folder.ts'
import type { RunLock } from '../journal/run-lock.ts'
import { RunRecord, type Trouble } from '../journal/run-record.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import type { Plan } from '../plan/plan.ts'
import { DEFAULT_GRACE } from '../plan/policy.ts'
import { readPromptText } from '../prompt/prompt-file.ts'
import { Cgroup } from '../run/cgroup.ts'
import { adoptOrphans } from '../run/libc.ts'
import type { Ports } from '../run/ports.ts'
import { runPlan } from '../run/run-plan.ts'
import { makeTaskPort } from '../setup/task-port.ts'
import { VERSION } from '../setup/version.ts'
import { JsonView } from '../views/json.ts'
import { PlainView } from '../views/plain.ts'
import type { View } from '../views/screen.ts'
import { Terminal } from '../views/terminal.ts'
import { cwdOption } from '../views/words.ts'
import { MaskedOutput } from './masked-output.ts'
import { currentProject } from './project.ts'
import { conversationIn } from './conversation-place.ts'
import { makeQueuePort } from './queue/port.ts'
import { otherQueues, whyWanted } from './records/with-queue.ts'
import { lacksOf, lacksWarning, secretsOf } from './secrets.ts'
import { StopSwitch } from './signals.ts'

/** How often the record is brought up to date while nothing but output happens. */
const TICK_MS = 1000

interface Options {
  readonly env: Readonly<Record<string, string>>
  readonly stamp: Stamp
  readonly verbose: boolean
  readonly json: boolean
  /** All agents that may get a task. */
  readonly agents?: Parameters<typeof secretsOf>[2]
  /** The configuration, where it is the one that the plan was made from. */
  readonly content?: ChainsConfig | undefined
  /** Where a run that another process began goes on. */
  readonly resumed?: Resumed
  /** Where nobody looks on, and standard output is for others: what ends it. */
  readonly unseen?: StopSwitch
  /** Who shows it then, after all. */
  readonly view?: View
  /** What is done with the plan, where it is not carried out as a whole; is told why there is no record. */
  readonly work?: (plan: Plan, ports: Ports, noRecord?: string) => Promise<void>
}

interface Resumed {
  readonly folder: string
  readonly lock: RunLock
  readonly state: RunState
}

/** Runs a plan in front of a person or a script: view, record and signals around `runPlan`. */
export async function carryOut(
  plan: Plan,
  warnings: readonly string[],
  {
    env,
    stamp,
    verbose,
    json,
    agents,
    content,
    resumed,
    unseen,
    view: own,
    work = runPlan,
  }: Options,
): Promise<number> {
  const cgroup = env['FORKHESTRA_CGROUP'] === 'off' ? undefined : Cgroup.enter(plan.run)
  const stopSwitch = unseen ?? new StopSwitch()
  const warn = (text: string) => teller.emit({ type: 'warning', text })
  const isWaiting = () => isOnlyWaiting(teller.state)
  const terminal =
    unseen === undefined ? openTerminal(stopSwitch, verbose, warn, isWaiting) : undefined
  const before = resumed?.state ?? NO_EVENTS
  const view = own ?? makeView(terminal, { json, verbose, stamp }, before)
  const places = recordPlaces({ folder: plan.cwd, searched: [plan.cwd] }, process.env)
  const record =
    resumed === undefined
      ? RunRecord.begin(places, plan.run, stamp, whyWanted)
      : RunRecord.reopen(resumed.folder, stamp, resumed.lock)
  const noRecord = record.whyMissing
  const mask = new Mask(secretsOf(plan, env, agents))
  const teller = new Teller(record, view, stamp, mask, before)
  const control = new Control(record.folder)
  control.clear()
  const lacks = lacksOf(plan, mask, env, content)
  const isNews = lacks !== undefined && resumed === undefined
  for (const text of [...warnings, ...(isNews ? [lacksWarning(lacks)] : [])])
    teller.emit({ type: 'warning', text })
  adoptOrphans()
  const ticking = setInterval(() => teller.tick(), TICK_MS)
  const ports: Ports = {
    emit: (body) => teller.emit(body),
    mask: (data) => mask.data(data),
    maskStream: () => mask.stream(),
    state: () => teller.state,
    output: (chunk) => teller.output(chunk),
    keepPrompt: (hash, text) => teller.keepPrompt(hash, text),
    control,
    readPrompt: readPromptText,
    tasks: makeTaskPort(plan.cwd, plan.run, env),
    env,
    stop: stopSwitch.stop,
    force: stopSwitch.force,
    ownsDescendants: true,
    ...(cgroup === undefined ? {} : { cgroup }),
    queue: makeQueuePort(record.folder, plan, env),
    record: record.folder,
    conversation: (place) => conversationIn(record.folder, place),
    lacks,
    version: VERSION,
  }
  let left: Promise<void> | undefined
  try {
    await work(plan, ports, noRecord)
  } finally {
    // Takes some ms, in which the rest is done.
    left = cgroup?.then((group) => group?.leave())
  }
  clearInterval(ticking)
  control.clear()
  teller.close()
  if (work === runPlan && !json) {
    for (const line of otherQueues(places, plan.run, cwdOption(plan.cwd, currentProject())))
      terminal?.line(`[forkhestra] ${line}`)
  }
  await terminal?.close(stopSwitch)
  await left
  return teller.state.ended?.exitCode ?? 1
}

function makeView(
  terminal: Terminal | undefined,
  { json, verbose, stamp }: Pick<Options, 'json' | 'verbose' | 'stamp'>,
  before: RunState,
): View {
  if (terminal === undefined) return { show: () => undefined, output: () => undefined }
  return json
    ? new JsonView(terminal, stamp)
    : new PlainView(terminal, verbose, before, currentProject())
}

function openTerminal(
  stopSwitch: StopSwitch,
  uncut: boolean,
  warn: (text: string) => void,
  isWaiting: () => boolean,
): Terminal {
  const terminal = new Terminal({
    env: process.env,
    uncut,
    onLost: (error) => warn(`output is lost: ${errorText(error)}`),
    onClosed: (error) => {
      const words = `stdout: ${errorText(error)}`
      // A reader that has gone is no news to the person who closed it.
      const isNews = errorCode(error) !== 'EPIPE'
      if (isNews) terminal.warn(`[forkhestra] Error: ${words}`)
      stopSwitch.outputClosed(
        `interrupted by ${isNews ? `an error of ${words}` : 'a closed stdout'}`,
      )
    },
  })
  stopSwitch.listen((signal) => {
    const seconds = DEFAULT_GRACE.termMs / 1000
    const gently = isWaiting()
      ? 'the wait ends, and the run with it'
      : `the agent has ${seconds} s to end; a second signal kills it at once`
    const words = signal === 'SIGQUIT' ? 'everything is killed' : gently
    terminal.warn(`[forkhestra] ${signal}: ${words}`)
  })
  return terminal
}

/** Whether no agent runs; where a task waits, others may. */
function isOnlyWaiting({ waiting, steps }: RunState): boolean {
  const isRunning = steps.some(({ running }) => running !== undefined)
  return waiting !== undefined && waiting.task === undefined && !isRunning
}

/** Tells the record and the view what happens, without the secrets, and keeps what it comes to. */
class Teller {
  readonly #record: RunRecord
  readonly #view: View
  readonly #stamp: Stamp
  readonly #mask: Mask
  readonly #masked: MaskedOutput
  /** Hashes of prompts that the record has. */
  readonly #kept = new Set<string>()
  state: RunState

  constructor(record: RunRecord, view: View, stamp: Stamp, mask: Mask, state: RunState) {
    this.#record = record
    this.#view = view
    this.#stamp = stamp
    this.#mask = mask
    this.#masked = new MaskedOutput(mask)
    this.state = state
  }

  emit(body: EventBody): RunEvent {
    if (body.type === 'iteration_ended' || body.type === 'task_ended') {
      for (const chunk of this.#masked.end(body.scope)) void this.#pass(chunk)
    }
    if (body.type === 'run_ended') this.#settle()
    const event = this.#stamp(this.#mask.data(body))
    this.state = next(this.state, event)
    this.#record.append(event)
    this.#record.checkpoint(this.state)
    this.#view.show(event, this.state)
    this.#tellTrouble()
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
    this.#view.tick?.(Date.now())
    this.#tellTrouble()
  }

  close(): void {
    this.#record.checkpoint(this.state)
    this.#record.close()
    for (const trouble of this.#record.takeTroubles()) {
      const body = troubleTold(trouble)
      if (trouble.kind !== 'back') this.#view.show(this.#stamp(body))
    }
  }

  /** Before the run tells its end, so that the summary can speak of it. */
  #settle(): void {
    this.#record.settle()
    this.#tellTrouble()
  }

  #pass(chunk: OutputChunk): void | Promise<void> {
    this.#record.output(chunk)
    return this.#view.output(chunk)
  }

  #tellTrouble(): void {
    for (const trouble of this.#record.takeTroubles()) this.emit(troubleTold(trouble))
  }
}

function troubleTold({ kind, why }: Trouble): EventBody {
  switch (kind) {
    case 'lost':
      return { type: 'record_lost', why }
    case 'torn':
      return { type: 'record_lost', why, partly: true }
    case 'behind':
      return {
        type: 'warning',
        text: `the record cannot be written now: ${why}. The run goes on; what is missing is written when that is possible`,
      }
    case 'changed':
      return {
        type: 'warning',
        text: 'another program changed the events.ndjson of this run: earlier events may be missing from its record. The run continues, and can still be resumed',
      }
    case 'back':
      return { type: 'warning', text: 'the record can be written again' }
    case 'gaps':
      return {
        type: 'warning',
        text: `the record is incomplete, because it could not be written for a while (${why}): receipts, or some of what agents printed, are missing; nothing that resume needs`,
      }
  }
}
