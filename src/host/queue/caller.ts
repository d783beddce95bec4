import { basename, dirname } from 'node:path'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { lockRecords } from '../../records/journal/record-folder.ts'
import { isDriven } from '../../records/journal/run-lock.ts'
import { RunRecord } from '../../records/journal/run-record.ts'
import {
  findRun,
  newestOwnRun,
  recordsIn,
  unreadableNewerThan,
  type RunBrief,
} from '../../records/journal/runs.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { agentsInBranches } from '../../run/agent-names.ts'
import { QueueClient } from '../../queue/client.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN, type Acting } from '../../queue/task.ts'
import { loadConfiguration, type Configuration } from '../configuration.ts'
import { VERSION } from '../version.ts'
import type { FrontEnd } from '../front-end.ts'
import { makeIdentity } from '../identity.ts'
import { checkOwn } from '../records/foreign.ts'
import { recordsOf, type ProjectRecords } from '../records/place.ts'
import { hasSteps, messageLimitOf, openStoreOf, refuseMissing } from './store.ts'
import { planIn } from '../records/plan-in.ts'
import { hasStore } from './store-path.ts'

/** Who uses a queue: an agent of a run, identified by its environment, or a user. */
export interface QueueCaller {
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

export interface OpenQueue extends QueueCaller {
  readonly store: QueueStore
  readonly client: QueueClient
}

/** Which queue to use: that of the caller's own run, of the named run, or of the newest. */
export interface QueueRequest {
  readonly frontEnd: FrontEnd
  readonly run?: string | undefined
}

/** What to create if it does not exist. */
type Access = 'create-run' | 'create-store' | 'existing'

/** Opens the queue and inbox of the caller, or calls `withoutQueue`. */
export async function withQueueClient<Result = number>(
  request: QueueRequest,
  access: Access,
  work: (opened: OpenQueue) => Promise<Result>,
  withoutQueue: (caller?: QueueCaller) => Result | Promise<Result> = refuseWithoutQueue,
): Promise<Result> {
  for (;;) {
    const found = findCaller(request)
    if (found === undefined && access !== 'create-run') return withoutQueue()
    if (found !== undefined && access === 'existing') {
      if (hasStore(found.record) || isInBranch(found)) return useStore(found, request, work)
      refuseMissing(found.record, request.frontEnd.notice)
      return withoutQueue(found)
    }
    const unlock = await keepRecords(found, request)
    try {
      const caller = found ?? (await openRun(request))
      // `clean` may have removed it before it was locked.
      if (statOf(caller.record) !== undefined) return await useStore(caller, request, work)
    } finally {
      unlock()
    }
  }
}

/** Agents that work in parallel may send to it, even if none has used a queue yet. */
function isInBranch({ isInside, acting, agent }: QueueCaller): boolean {
  return isInside && acting === undefined && agent !== MAIN
}

/** Keeps `clean` from removing a run until something is queued in it. */
async function keepRecords(found: QueueCaller | undefined, { frontEnd }: QueueRequest) {
  const root = found === undefined ? recordsOf(frontEnd).roots[0] : dirname(found.record)
  try {
    return await lockRecords(root)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    // If nothing can be written here, nothing can be removed either.
    if (found !== undefined) return () => undefined
    throw new UserError(`Cannot create a record: ${errorText(error)}`)
  }
}

async function useStore<Result>(
  caller: QueueCaller,
  { frontEnd }: QueueRequest,
  work: (opened: OpenQueue) => Promise<Result>,
): Promise<Result> {
  const { run, record, isInside, acting, agent } = caller
  const plan = planIn(record)
  const store = await openStoreOf(record, frontEnd.env, plan)
  try {
    await store.openRun(run, namesInBranches(plan))
    const left = isInside || isDriven(record) ? [] : await endStepAgents(store, run)
    const client = new QueueClient(store, run, acting ?? agent, left)
    try {
      return await work({ ...caller, store, client })
    } finally {
      await client.close()
    }
  } finally {
    await store.close()
  }
}

/** Returns the agents in branches: if no process of the run is alive, the user acts for them too. */
async function endStepAgents(store: QueueStore, run: string): Promise<string[]> {
  const agents = await store.stepAgents(run)
  for (const { name, state } of agents)
    if (state === 'running') await store.setStepAgent(run, name, 'idle')
  return agents.flatMap(({ name }) => (name === MAIN ? [] : [name]))
}

function namesInBranches(plan: Partial<Plan>): string[] {
  return hasSteps(plan) ? [...agentsInBranches(plan).values()] : []
}

/** Scripts get the same keys even without a run. */
export function identityOf(caller: QueueCaller | undefined) {
  return { run: caller?.run ?? null, agent: caller?.agent ?? null }
}

function refuseWithoutQueue(caller?: QueueCaller): never {
  if (caller === undefined) {
    throw new UserError('There are no runs yet.', 'The first push opens one: forkhestra push "…"')
  }
  throw new UserError('No agent of this run has queued anything.', 'See: forkhestra queue')
}

/** The size limit of prompts and messages: the run's, or that of a run that would start now. */
export async function messageLimitFor(request: QueueRequest): Promise<number> {
  const caller = findCaller(request)
  if (caller !== undefined) return messageLimitOf(planIn(caller.record))
  const { project, env } = request.frontEnd
  const { queueLimits } = (await loadConfiguration(project.folder, undefined, env)).content
  return messageLimitOf(queueLimits === undefined ? {} : { queueLimits })
}

/** Undefined if there is no run yet. */
export function findCaller(request: QueueRequest): QueueCaller | undefined {
  const { frontEnd, run: word } = request
  const inside = fromEnvironment(frontEnd.env)
  if (inside !== undefined && (word === undefined || word === inside.run)) return inside
  const places = recordsOf(frontEnd)
  const found = word === undefined ? newestOwnRun(places) : findRun(places, word)
  if (word === undefined) noteSkippedRuns(places, found, frontEnd)
  if (found === undefined) return undefined
  checkOwn(found, places)
  return asMain(found, request)
}

/** A queue that cannot be read, or was written by forkhestra 0.1.0, must not look empty. */
function noteSkippedRuns(
  places: ProjectRecords,
  found: RunBrief | undefined,
  { notice }: FrontEnd,
): void {
  const { roots, origins } = places
  for (const id of unreadableNewerThan(places, found?.id, hasStore))
    notice(`Warning: the record of run ${id} cannot be read, so its queue is skipped`)
  const [newest] = recordsIn(roots)
  if (newest === undefined || newest === found?.folder || !hasStore(newest)) return
  if (origins.check(newest) !== 'no_id') return
  const id = basename(newest)
  notice(
    `Run ${id} has a queue but is skipped, because it was not created here; see: forkhestra resume ${id}`,
  )
}

function asMain(
  { id, folder }: Pick<RunBrief, 'id' | 'folder'>,
  { frontEnd, run }: QueueRequest,
): QueueCaller {
  const options = `${run === undefined ? '' : ` --run ${run}`}${frontEnd.cwdOption}`
  return { run: id, record: folder, agent: MAIN, isInside: false, options }
}

function fromEnvironment(env: FrontEnd['env']): QueueCaller | undefined {
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
    return { run, record, agent, ...actingAs(agent, record, env), isInside: true, options: '' }
  throw new UserError(`The record of run ${run} is gone: ${record}`)
}

function actingAs(
  name: string,
  record: string,
  env: FrontEnd['env'],
): { readonly acting?: Acting } {
  if (name === MAIN) return {}
  const { FORKHESTRA_TASK_ID: task, FORKHESTRA_TASK_ATTEMPT: attempt } = env
  if (task) return { acting: { name, task, attempt: Number(attempt) } }
  if (namesInBranches(planIn(record)).includes(name)) return {}
  throw new UserError(
    `Cannot tell which task '${printable(name)}' belongs to: FORKHESTRA_TASK_ID is not set.`,
    'It is set for every sub-agent: pass it on together with FORKHESTRA_AGENT_NAME.',
  )
}

/** Another process may have created one before the records were locked. */
async function openRun(request: QueueRequest): Promise<QueueCaller> {
  const { project, env } = request.frontEnd
  const { folder: cwd } = project
  const { content } = await loadConfiguration(cwd, undefined, env)
  const places = recordsOf(request.frontEnd)
  return asMain(newestOwnRun(places) ?? beginRecord(places, cwd, content), request)
}

/** A run without steps, for a queue that the user fills. */
function beginRecord(
  places: ProjectRecords,
  cwd: string,
  { queueLimits }: Configuration['content'],
) {
  const { run, stamp } = makeIdentity(places)
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
