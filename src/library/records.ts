import { makeOverrides, type OverrideConfig } from '../chain/plan/overrides.ts'
import { mayEndOrphans } from '../host/orphans.ts'
import { isDriven } from '../host/queue/caller.ts'
import { hasStore } from '../host/queue/store-path.ts'
import { openStoreOf } from '../host/queue/store.ts'
import { unfinishedIn } from '../host/queue/drive.ts'
import { describeRun, describeWithReceipts } from '../host/records/describe-run.ts'
import { followEvents } from '../host/records/follow-events.ts'
import { lookAt } from '../host/records/foreign.ts'
import { recordsOf } from '../host/records/place.ts'
import { readAllRuns } from '../host/records/read-all-runs.ts'
import { readTasks } from '../host/records/read-tasks.ts'
import { withQueue } from '../host/records/with-queue.ts'
import { prepareResume, type ResumeOptions as Resuming } from '../host/resume-run.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { holderOf } from '../records/journal/run-lock.ts'
import { findRun, type RunBrief } from '../records/journal/runs.ts'
import { resultOf, type ChainResult } from './execute.ts'
import { workOffHere } from './queue.ts'
import { carryOut, frontEndOf, untilStopped, type SessionOptions } from './session.ts'

interface Where {
  readonly cwd?: string | undefined
}

export interface ResumeOptions
  extends
    SessionOptions,
    Where,
    Pick<Resuming, 'run' | 'prompt'>,
    Readonly<Omit<OverrideConfig, 'maxCostUsd'>> {
  /** In US dollars. */
  readonly maxCost?: number | undefined
  /** Carries out a record that was not made here. */
  readonly trustRecord?: boolean | undefined
  /** Begins an empty queue, and keeps the damaged one aside. */
  readonly newQueue?: boolean | undefined
  /** Whether it may continue although another run is at work in the same working tree. */
  readonly anyway?: boolean | undefined
}

/** Continues a recorded run where its record ends; absent `run`: the newest that is not complete. */
export async function resume(options: ResumeOptions = {}): Promise<ChainResult> {
  const notices: string[] = []
  const frontEnd = frontEndOf(options.cwd, (line) => notices.push(line))
  const { run, prompt, trustRecord = false, newQueue = false, anyway = false } = options
  const { killOrphans = false } = options
  const overrides = await overridesOf(options)
  const given = { run, prompt, trustRecord, newQueue, anyway, killOrphans, overrides }
  const found = await prepareResume(frontEnd, given)
  if (found.kind === 'finished') return finish(found.run, options)
  const { release } = found
  const ready = { ...found.ready, warnings: [...notices, ...found.ready.warnings] }
  const { plan } = ready
  return untilStopped(plan.run, options, async (stopping) => {
    try {
      return resultOf(plan.run, await carryOut(ready, options, stopping))
    } finally {
      release()
    }
  })
}

async function overridesOf(options: ResumeOptions) {
  const { maxCost: maxCostUsd, maxTokens, maxDuration, timeout, idleTimeout } = options
  const { stall, verify, until } = options
  const limits = { maxCostUsd, maxTokens, maxDuration, timeout, idleTimeout, stall, verify, until }
  if (Object.values(limits).some((value) => value !== undefined)) {
    const { checkChain } = await import('../chain/parse/chains-file.ts')
    checkChain({ ...limits, steps: [{ agent: 'any' }] })
  }
  return makeOverrides(limits)
}

/** A run without steps to resume may have tasks that an earlier process started. */
async function finish(
  { id, folder, state }: RunBrief,
  options: ResumeOptions,
): Promise<ChainResult> {
  const result = { ...resultOf(id, state), success: true, record: folder }
  if (!hasStore(folder)) return result
  const frontEnd = frontEndOf(options.cwd)
  const store = await openStoreOf(folder)
  try {
    const driven = { store, run: id, record: folder }
    const names = await unfinishedIn(driven)
    if (names.length === 0) return result
    const { killOrphans = false } = options
    const isHeld = () => isDriven({ record: folder })
    const mayKill = await mayEndOrphans(id, killOrphans, isHeld, frontEnd.confirm)
    return { ...result, success: await workOffHere(frontEnd, driven, names, mayKill, options) }
  } finally {
    await store.close()
  }
}

/** The recorded runs of a project, the newest first, as `forkhestra runs --json` has them. */
export async function listRuns({ cwd }: Where = {}) {
  const { root, runs, broken } = readAllRuns(recordsOf(frontEndOf(cwd)))
  const now = Date.now()
  return { root, runs: runs.map((run) => describeRun(run, now)), broken }
}

/** One of them, as `forkhestra show --json` has it; absent `id`: the newest. */
export async function readRun(id?: string, { cwd }: Where = {}) {
  const found = findRun(recordsOf(frontEndOf(cwd)), id)
  return lookAt(found, async () => {
    const run = withQueue(found)
    return { ...describeWithReceipts(run, run.state.steps), ...(await readTasks(run)) }
  })
}

/** The events of a run, in order; with `follow` also those that come until it ends. */
export async function* readEvents(
  id?: string,
  { cwd, follow = false }: Where & { readonly follow?: boolean | undefined } = {},
): AsyncGenerator<RunEvent, void> {
  const { folder } = findRun(recordsOf(frontEndOf(cwd)), id)
  yield* followEvents(folder, follow, () => holderOf(folder)?.life)
}
