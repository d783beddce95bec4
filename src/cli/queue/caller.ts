import { basename, join } from 'node:path'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { withLock } from '../../base/lock.ts'
import { printable } from '../../base/printable.ts'
import { writePlan } from '../../journal/plan-file.ts'
import { makeRecordRoot } from '../../journal/record-folder.ts'
import { holderOf } from '../../journal/run-lock.ts'
import { RunRecord } from '../../journal/run-record.ts'
import { findRun, newestOwnRun, recordsIn, type RunBrief } from '../../journal/runs.ts'
import type { Plan } from '../../plan/plan.ts'
import { Desk } from '../../queue/desk.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN, type Acting } from '../../queue/task.ts'
import { loadConfiguration, type Configuration } from '../../setup/configuration.ts'
import { VERSION } from '../../setup/version.ts'
import type { Input } from '../command.ts'
import { makeIdentity } from '../identity.ts'
import { projectOf } from '../project.ts'
import { checkOwn } from '../records/foreign.ts'
import { recordsOf, type Places } from '../records/place.ts'
import { whyWanted } from '../records/with-queue.ts'
import { hasStore, limitsOf, openStoreOf, planIn, refuseMissing } from './store.ts'

/** For whom a verb acts: an agent of a run, by its environment, or a person. */
export interface Caller {
  readonly run: string
  /** Folder of the run's record. */
  readonly record: string
  readonly agent: string
  /** The attempt at a task as which that agent acts; absent for `main`. */
  readonly acting?: Acting
  /** Whether it is the run itself that calls. */
  readonly isInside: boolean
  /** What stands behind a further verb that is to act in the same run. */
  readonly options: string
}

export interface Opened extends Caller {
  readonly store: QueueStore
  readonly desk: Desk
}

/** What a verb may make where it is not there: a run with queues, queues in a run, or nothing. */
type Making = 'makes' | 'fills' | 'looks'

/** Does something with the queue and the inbox of whoever calls, which may not be there. */
export async function withDesk<Result = number>(
  input: Input,
  making: Making,
  work: (opened: Opened) => Promise<Result>,
  nothing: (caller?: Caller) => Result,
): Promise<Result> {
  const caller = findCaller(input) ?? (making === 'makes' ? await openRun(input) : undefined)
  if (caller === undefined) return nothing()
  if (making === 'looks' && !hasStore(caller.record)) {
    refuseMissing(caller.record)
    return nothing(caller)
  }
  const store = await openStoreOf(caller.record)
  try {
    await store.openRun(caller.run)
    if (!caller.isInside && !isDriven(caller)) await store.setMain(caller.run, 'idle')
    const desk = new Desk(store, caller.run, caller.acting ?? caller.agent)
    try {
      return await work({ ...caller, store, desk })
    } finally {
      await desk.close()
    }
  } finally {
    await store.close()
  }
}

/** For scripts, who find the same keys also where there is no run. */
export function whose(caller: Caller | undefined) {
  return { run: caller?.run ?? null, agent: caller?.agent ?? null }
}

/** For verbs that need an agent: why there is none. */
export function noAgents(caller?: Caller): never {
  if (caller === undefined) {
    throw new UserError('There is no run yet.', 'The first push opens one: forkhestra push "…"')
  }
  throw new UserError('No agent of this run has queued anything.', 'See: forkhestra queue')
}

/** Whether a process carries the run out that will see what is queued. */
export function isDriven({ record }: Pick<Caller, 'record'>): boolean {
  const life = holderOf(record)?.life
  return life !== undefined && life !== 'dead'
}

/** Bytes that a prompt or a message may have: those of the run, or of one that would begin now. */
export async function messageLimitFor(input: Input): Promise<number> {
  const caller = findCaller(input)
  if (caller !== undefined) return limitsOf(planIn(caller.record)).messageBytes
  const { content } = await loadConfiguration(projectOf(input).folder, undefined, process.env)
  const { queueLimits } = content
  return limitsOf(queueLimits === undefined ? {} : { queueLimits }).messageBytes
}

/** The run that a verb acts in, and for whom; undefined where there is none yet. */
export function findCaller(input: Input): Caller | undefined {
  const word = input.text('run')
  const inside = fromEnvironment()
  if (inside !== undefined && (word === undefined || word === inside.run)) return inside
  const places = recordsOf(input)
  const found = word === undefined ? newestOwnRun(places) : findRun(places, word)
  if (word === undefined) tellPassedOver(places, found)
  if (found === undefined) return undefined
  checkOwn(found, places)
  return asMain(found, input)
}

/** A queue that forkhestra 0.1.0 left must not seem to be empty. */
function tellPassedOver({ roots, origins }: Places, found: RunBrief | undefined): void {
  const [newest] = recordsIn(roots)
  if (newest === undefined || newest === found?.folder || !hasStore(newest)) return
  if (origins.foreignness(newest) !== 'no_id') return
  const id = basename(newest)
  console.error(
    `[forkhestra] Run ${id} has a queue and is passed over, because it was not made here; see: forkhestra resume ${id}`,
  )
}

function asMain({ id, folder }: Pick<RunBrief, 'id' | 'folder'>, input: Input): Caller {
  const given = ['run', 'cwd'].map((name) => [name, input.text(name)] as const)
  const options = given.map(([name, value]) => (value === undefined ? '' : ` --${name} ${value}`))
  return { run: id, record: folder, agent: MAIN, isInside: false, options: options.join('') }
}

function fromEnvironment(): Caller | undefined {
  const {
    FORKHESTRA_RUN_ID: run,
    FORKHESTRA_RECORD: record,
    FORKHESTRA_AGENT_NAME: agent = MAIN,
  } = process.env
  if (!run) return undefined
  if (!record) {
    throw new UserError(
      `The run ${run} has no record, and its queues would be in it.`,
      'Agents that are started through the library have no queues.',
    )
  }
  if (statOf(record)?.isDirectory() === true)
    return { run, record, agent, ...actingAs(agent), isInside: true, options: '' }
  throw new UserError(`The record of the run ${run} is gone: ${record}`)
}

function actingAs(name: string): { readonly acting?: Acting } {
  if (name === MAIN) return {}
  const { FORKHESTRA_TASK_ID: task, FORKHESTRA_TASK_ATTEMPT: attempt } = process.env
  if (task) return { acting: { name, task, attempt: Number(attempt) } }
  throw new UserError(
    `Nobody knows for which task '${printable(name)}' acts: FORKHESTRA_TASK_ID is not set.`,
    'It is set for every sub-agent: hand it on together with FORKHESTRA_AGENT_NAME.',
  )
}

/** Of several that find no run and come at once, one opens it, and it is that of all of them. */
async function openRun(input: Input): Promise<Caller> {
  const { folder: cwd } = projectOf(input)
  const { content } = await loadConfiguration(cwd, undefined, process.env)
  const places = recordsOf(input)
  const [root] = places.roots
  try {
    makeRecordRoot(root)
    return withLock(join(root, '.gitignore'), () =>
      asMain(newestOwnRun(places) ?? beginRecord(places, cwd, content), input),
    )
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    throw new UserError(`No record can be made: ${errorText(error)}`)
  }
}

/** A run without steps, whose queue a person fills. */
function beginRecord(places: Places, cwd: string, { queueLimits }: Configuration['content']) {
  const { run, stamp } = makeIdentity()
  const none: Plan['root'] = { kind: 'sequence', id: 'root', of: [] }
  const limits = queueLimits === undefined ? {} : { queueLimits }
  const about = { run, cwd, root: none, recoveries: [], budget: {}, hooks: {}, ...limits }
  const plan = about satisfies Plan
  const record = RunRecord.begin(places, run, stamp, whyWanted)
  const { folder } = record
  if (folder === undefined)
    throw new UserError(`No record can be made: ${record.takeTroubles()[0]?.why}`)
  const start = { schema: 1 as const, version: VERSION, pid: process.pid, cwd, record: folder }
  writePlan(folder, { version: VERSION, plan })
  record.append(stamp({ type: 'run_started', ...start, steps: [], plan }))
  record.append(stamp({ type: 'run_ended', ok: true, exitCode: 0, leftovers: [] }))
  record.close()
  return { id: run, folder }
}
