import { basename, join } from 'node:path'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { withLock } from '../../base/linux/lock.ts'
import { printable } from '../../base/terminal/printable.ts'
import { makeRecordRoot } from '../../records/journal/record-folder.ts'
import { holderOf } from '../../records/journal/run-lock.ts'
import { RunRecord } from '../../records/journal/run-record.ts'
import {
  findRun,
  newestOwnRun,
  recordsIn,
  removeOldRuns,
  type RunBrief,
} from '../../records/journal/runs.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { QueueClient } from '../../queue/client.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN, type Acting } from '../../queue/task.ts'
import { loadConfiguration, type Configuration } from '../configuration.ts'
import { VERSION } from '../version.ts'
import type { FrontEnd } from '../front-end.ts'
import { makeIdentity } from '../identity.ts'
import { checkOwn } from '../records/foreign.ts'
import { recordsOf, type Places } from '../records/place.ts'
import { whyWanted } from '../records/unfinished-queues.ts'
import { messageLimitOf, openStoreOf, planIn, refuseMissing } from './store.ts'
import { hasStore } from './store-path.ts'

/** Who uses a queue: an agent of a run, known by its environment, or a person. */
export interface Caller {
  readonly run: string
  /** Folder of the run's record. */
  readonly record: string
  readonly agent: string
  /** The task attempt that the agent belongs to; absent for `main`. */
  readonly acting?: Acting
  /** Whether the caller is a process of the run. */
  readonly isInside: boolean
  /** Options that make another command use the same run, for hints. */
  readonly options: string
}

export interface OpenQueue extends Caller {
  readonly store: QueueStore
  readonly client: QueueClient
}

/** Which queue to use: that of the caller's own run, of the named run, or of the newest. */
export interface QueueRequest {
  readonly frontEnd: FrontEnd
  readonly run?: string | undefined
}

/** What may be created if it does not exist. */
type Access = 'create-run' | 'create-store' | 'existing'

/** Opens the queue and inbox of the caller, or calls `withoutQueue`. */
export async function withQueueClient<Result = number>(
  request: QueueRequest,
  access: Access,
  work: (opened: OpenQueue) => Promise<Result>,
  withoutQueue: (caller?: Caller) => Result | Promise<Result>,
): Promise<Result> {
  const caller =
    findCaller(request) ?? (access === 'create-run' ? await openRun(request) : undefined)
  if (caller === undefined) return withoutQueue()
  if (access === 'existing' && !hasStore(caller.record)) {
    refuseMissing(caller.record, request.frontEnd.notice)
    return withoutQueue(caller)
  }
  const store = await openStoreOf(caller.record, request.frontEnd.env)
  try {
    await store.openRun(caller.run)
    if (!caller.isInside && !isDriven(caller)) await store.setMain(caller.run, 'idle')
    const client = new QueueClient(store, caller.run, caller.acting ?? caller.agent)
    try {
      return await work({ ...caller, store, client })
    } finally {
      await client.close()
    }
  } finally {
    await store.close()
  }
}

/** Scripts get the same keys even if there is no run. */
export function identityOf(caller: Caller | undefined) {
  return { run: caller?.run ?? null, agent: caller?.agent ?? null }
}

export function refuseWithoutQueue(caller?: Caller): never {
  if (caller === undefined) {
    throw new UserError('There are no runs yet.', 'The first push opens one: forkhestra push "…"')
  }
  throw new UserError('No agent of this run has queued anything.', 'See: forkhestra queue')
}

/** Whether a live process runs the run and will see what is queued. */
export function isDriven({ record }: Pick<Caller, 'record'>): boolean {
  const life = holderOf(record)?.life
  return life !== undefined && life !== 'dead'
}

/** The size limit of prompts and messages: that of the run, or of one that would start now. */
export async function messageLimitFor(request: QueueRequest): Promise<number> {
  const caller = findCaller(request)
  if (caller !== undefined) return messageLimitOf(planIn(caller.record))
  const { project, env } = request.frontEnd
  const { queueLimits } = (await loadConfiguration(project.folder, undefined, env)).content
  return messageLimitOf(queueLimits === undefined ? {} : { queueLimits })
}

/** Undefined if there is no run yet. */
export function findCaller(request: QueueRequest): Caller | undefined {
  const { frontEnd, run: word } = request
  const inside = fromEnvironment(frontEnd.env)
  if (inside !== undefined && (word === undefined || word === inside.run)) return inside
  const places = recordsOf(frontEnd)
  const found = word === undefined ? newestOwnRun(places) : findRun(places, word)
  if (word === undefined) noteSkippedRun(places, found, frontEnd)
  if (found === undefined) return undefined
  checkOwn(found, places)
  return asMain(found, request)
}

/** A queue written by forkhestra 0.1.0 must not look empty. */
function noteSkippedRun(
  { roots, origins }: Places,
  found: RunBrief | undefined,
  { notice }: FrontEnd,
): void {
  const [newest] = recordsIn(roots)
  if (newest === undefined || newest === found?.folder || !hasStore(newest)) return
  if (origins.check(newest) !== 'no_id') return
  const id = basename(newest)
  notice(
    `Run ${id} has a queue but is skipped, because it was not made here; see: forkhestra resume ${id}`,
  )
}

function asMain(
  { id, folder }: Pick<RunBrief, 'id' | 'folder'>,
  { frontEnd, run }: QueueRequest,
): Caller {
  const options = `${run === undefined ? '' : ` --run ${run}`}${frontEnd.cwdOption}`
  return { run: id, record: folder, agent: MAIN, isInside: false, options }
}

function fromEnvironment(env: FrontEnd['env']): Caller | undefined {
  const {
    FORKHESTRA_RUN_ID: run,
    FORKHESTRA_RECORD: record,
    FORKHESTRA_AGENT_NAME: agent = MAIN,
  } = env
  if (!run) return undefined
  if (!record) {
    throw new UserError(
      `Queues need a run record, and run ${run} has none.`,
      'A program that uses the library passes record: true to give its agents queues.',
    )
  }
  if (statOf(record)?.isDirectory() === true)
    return { run, record, agent, ...actingAs(agent, env), isInside: true, options: '' }
  throw new UserError(`The record of run ${run} is gone: ${record}`)
}

function actingAs(name: string, env: FrontEnd['env']): { readonly acting?: Acting } {
  if (name === MAIN) return {}
  const { FORKHESTRA_TASK_ID: task, FORKHESTRA_TASK_ATTEMPT: attempt } = env
  if (task) return { acting: { name, task, attempt: Number(attempt) } }
  throw new UserError(
    `Cannot tell which task '${printable(name)}' belongs to: FORKHESTRA_TASK_ID is not set.`,
    'It is set for every sub-agent: pass it on together with FORKHESTRA_AGENT_NAME.',
  )
}

/** Under a lock, so that several callers at once open only one run. */
async function openRun(request: QueueRequest): Promise<Caller> {
  const { project, env } = request.frontEnd
  const { folder: cwd } = project
  const { content } = await loadConfiguration(cwd, undefined, env)
  const places = recordsOf(request.frontEnd)
  const [root] = places.roots
  try {
    makeRecordRoot(root)
    const run = withLock(
      join(root, '.gitignore'),
      () => newestOwnRun(places) ?? beginRecord(places, cwd, content),
    )
    await removeOldRuns(places, whyWanted)
    return asMain(run, request)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    throw new UserError(`Cannot create a record: ${errorText(error)}`)
  }
}

/** A run without steps, for a queue that a person fills. */
function beginRecord(places: Places, cwd: string, { queueLimits }: Configuration['content']) {
  const { run, stamp } = makeIdentity()
  const none: Plan['root'] = { kind: 'sequence', id: 'root', of: [] }
  const limits = queueLimits === undefined ? {} : { queueLimits }
  const about = { run, cwd, root: none, recoveries: [], budget: {}, hooks: {}, ...limits }
  const plan = about satisfies Plan
  const record = RunRecord.begin(places, run, stamp)
  const { folder } = record
  if (folder === undefined)
    throw new UserError(`Cannot create a record: ${record.takeProblems()[0]?.why}`)
  const start = { schema: 1 as const, version: VERSION, pid: process.pid, cwd, record: folder }
  record.append(stamp({ type: 'run_started', ...start, steps: [], plan }))
  record.append(stamp({ type: 'run_ended', ok: true, exitCode: 0, leftovers: [] }))
  record.close()
  return { id: run, folder }
}
