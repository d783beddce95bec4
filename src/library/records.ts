import { checkChain } from '../chain/parse/chains-file.ts'
import { makeOverrides, type OverrideConfig } from '../chain/plan/overrides.ts'
import { driveUnfinished } from '../host/queue/drive.ts'
import { describeRun, describeWithReceipts } from '../host/records/describe-run.ts'
import { followEvents } from '../host/records/follow-events.ts'
import { reportingDamage } from '../host/records/foreign.ts'
import { recordsOf } from '../host/records/place.ts'
import { readQueuedTasks } from '../host/records/queued-tasks.ts'
import { readAllRuns, withQueueState } from '../host/records/with-queue.ts'
import { prepareResume, type ResumeRequest } from '../host/resume-run.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { holderOf } from '../records/journal/run-lock.ts'
import { findRun, type RunBrief } from '../records/journal/runs.ts'
import { resultOf, type ChainResult } from './execute.ts'
import { driveTasks } from './queue.ts'
import { runReady, makeFrontEnd, withStopSignals, type SessionOptions } from './session.ts'

interface ProjectOptions {
  readonly cwd?: string | undefined
}

export interface ResumeOptions
  extends
    SessionOptions,
    ProjectOptions,
    Pick<ResumeRequest, 'run' | 'prompt'>,
    Readonly<Omit<OverrideConfig, 'maxCostUsd'>> {
  /** In US dollars. */
  readonly maxCost?: number | undefined
  /** Resumes a run whose record was not created here. */
  readonly trustRecord?: boolean | undefined
  /** Continues with an empty queue; a damaged one is kept. */
  readonly newQueue?: boolean | undefined
  /** Continues even if another run uses the same working tree. */
  readonly anyway?: boolean | undefined
}

/** Continues a recorded run; by default the newest one that is not complete. */
export async function resume(options: ResumeOptions = {}): Promise<ChainResult> {
  const notices: string[] = []
  const frontEnd = makeFrontEnd(options.cwd, (line) => notices.push(line))
  const { run, prompt, trustRecord = false, newQueue = false, anyway = false } = options
  const { killOrphans = false } = options
  const overrides = overridesOf(options)
  const given = { run, prompt, trustRecord, newQueue, anyway, killOrphans, overrides }
  const found = await prepareResume(frontEnd, given)
  if (found.kind === 'finished') return finish(found.run, options)
  const { release } = found
  const ready = { ...found.ready, warnings: [...notices, ...found.ready.warnings] }
  const { plan } = ready
  return withStopSignals(plan.run, options, async (stopping) => {
    try {
      return resultOf(plan.run, await runReady(ready, options, stopping))
    } finally {
      release()
    }
  })
}

function overridesOf(options: ResumeOptions) {
  const { maxCost: maxCostUsd, maxTokens, maxDuration, timeout, idleTimeout } = options
  const { stall, verify, until, maxParallel } = options
  const times = { maxDuration, timeout, idleTimeout }
  const limits = { ...times, maxCostUsd, maxTokens, maxParallel, stall, verify, until }
  checkChain({ ...limits, steps: [{ agent: 'any' }] })
  return makeOverrides(limits)
}

/** A run with no steps left may have tasks that an earlier process started. */
async function finish(
  { id, folder, state }: RunBrief,
  options: ResumeOptions,
): Promise<ChainResult> {
  const frontEnd = makeFrontEnd(options.cwd)
  const { killOrphans = false } = options
  const success = await driveUnfinished(
    { run: id, record: folder },
    killOrphans,
    frontEnd,
    (...driven) => driveTasks(frontEnd, ...driven, options),
  )
  return { ...resultOf(id, state), success: success ?? true, record: folder }
}

/** The recorded runs of a project, newest first, as in `forkhestra runs --json`. */
export async function listRuns({ cwd }: ProjectOptions = {}) {
  const { root, runs, broken } = readAllRuns(recordsOf(makeFrontEnd(cwd)))
  const now = Date.now()
  return { root, runs: runs.map((run) => describeRun(run, now)), broken }
}

/** One run (default: the newest), as in `forkhestra show --json`. */
export async function readRun(id?: string, { cwd }: ProjectOptions = {}) {
  const frontEnd = makeFrontEnd(cwd)
  const found = findRun(recordsOf(frontEnd), id)
  return reportingDamage(found, async () => {
    const run = withQueueState(found)
    return {
      ...describeWithReceipts(run, run.state.steps),
      ...(await readQueuedTasks(run, frontEnd.env)),
    }
  })
}

/** The events of a run, in order; with `follow`, waits for new ones until it ends. */
export async function* readEvents(
  id?: string,
  { cwd, follow = false }: ProjectOptions & { readonly follow?: boolean | undefined } = {},
): AsyncGenerator<RunEvent, void> {
  const { folder } = findRun(recordsOf(makeFrontEnd(cwd)), id)
  yield* followEvents(folder, follow, () => holderOf(folder)?.life)
}
