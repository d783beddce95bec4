import { errorCode, errorText, NotNow, UserError } from '../base/errors.ts'
import { dropUndefined } from '../base/objects.ts'
import { statOf } from '../base/files.ts'
import { localTime } from '../base/local-time.ts'
import { MASKED } from '../base/secrets/encodings.ts'
import { Mask, unmask } from '../base/secrets/mask.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { agentSteps, expandChain } from '../chain/parse/items.ts'
import { applyOverrides, raiseBudgets } from '../chain/plan/overrides.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { readPlan, readRunState } from '../records/journal/read-run.ts'
import { holderOf, RunLock } from '../records/journal/run-lock.ts'
import {
  findRun,
  isNestedRun,
  listOwnRuns,
  unreadableNewerThan,
  type RunBrief,
} from '../records/journal/runs.ts'
import { compareConfiguration } from './configuration.ts'
import type { FrontEnd } from './front-end.ts'
import { endOrphansOf } from './orphans.ts'
import { stampFor } from './identity.ts'
import { agentEnvironment } from './own-folder.ts'
import {
  allSteps,
  findMissingTexts,
  restoreTexts,
  withoutConfigurationText,
  type MissingText,
  type Sources,
} from './plan-texts.ts'
import { agentsOf } from './queue/configuration.ts'
import { refuseUnsound, renewStore } from './queue/store.ts'
import { ForeignRecord, signForeign } from './records/foreign.ts'
import { isChat } from './records/plan-in.ts'
import { recordsOf, type ProjectRecords } from './records/place.ts'
import { readRecordedPlan } from './records/recorded-plan.ts'
import type { ReadyRun } from './run-session.ts'
import { nameIn, secretsOf, webhooksIn, webhooksOf } from './secrets.ts'
import { VERSION } from './version.ts'
import { takeWorkingTree } from './working-tree.ts'

/** Another process executes the run. */
class RunIsDriven extends NotNow {
  constructor(run: string, { pid, since }: { readonly pid: number; readonly since: string }) {
    const who = pid === 0 ? 'another process' : `process ${pid}, since ${localTime(since)}`
    super(`Run ${run} is already running (${who}).`, `Watch it: forkhestra watch ${run}`)
  }
}

export interface ResumeRequest {
  /** Absent: the newest run that is not complete. */
  readonly run?: string | undefined
  /** Changes to the limits of the plan. */
  readonly overrides?: Parameters<typeof applyOverrides>[1]
  /** The prompt, if a secret kept it out of the record. */
  readonly prompt?: string | undefined
  readonly trustRecord?: boolean
  readonly newQueue?: boolean
  readonly killOrphans?: boolean
  /** Whether another run may work in the same working tree. */
  readonly anyway?: boolean
  /** Shows what a foreign run would do, before it is refused. */
  readonly showForeign?: (run: RunBrief) => Promise<void>
}

/** A run with steps to resume, or with none left. */
export type Resumable =
  | { readonly kind: 'ready'; readonly ready: ReadyRun; readonly release: () => void }
  | { readonly kind: 'finished'; readonly run: RunBrief; readonly isChat: boolean }

/** Prepares a recorded run to continue where its record ends. */
export async function prepareResume(
  frontEnd: FrontEnd,
  options: ResumeRequest,
): Promise<Resumable> {
  const places = recordsOf(frontEnd)
  const run = chooseRun(places, options.run, frontEnd)
  const warnings = await acceptRecord(run, places, options)
  const holder = holderOf(run.folder)
  const isDead = holder !== undefined
  // The lock of a dead chat stays for `chat --resume`: it shows that processes may be left.
  if (holder?.life === 'dead' && options.newQueue !== true && isChat(run.folder)) {
    await refuseUnsound(run.id, run.folder, frontEnd.env)
    return { kind: 'finished', run, isChat: true }
  }
  const lock = takeLock(run)
  try {
    return await readResumable(run, lock, frontEnd, options, warnings)
  } catch (error) {
    // Nothing has started, so the run stays unchanged. A dead process's lock also stays: it tells the next
    // caller which processes are left over.
    if (error instanceof UserError && !isDead) lock.release()
    throw error
  }
}

/** Refuses a foreign run, unless the user trusts it. */
async function acceptRecord(
  run: RunBrief,
  places: ProjectRecords,
  { trustRecord, showForeign }: ResumeRequest,
): Promise<string[]> {
  if (trustRecord === true) return signForeign(run, places)
  const foreign = places.origins.checkStrictly(run.folder)
  if (foreign === undefined) return []
  await showForeign?.(run)
  throw new ForeignRecord(run, foreign, showForeign !== undefined)
}

/** A run whose record cannot be written cannot continue. */
export function takeLock({ id, folder }: Pick<RunBrief, 'id' | 'folder'>): RunLock {
  try {
    const lock = RunLock.take(folder)
    if (lock instanceof RunLock) return lock
    throw new RunIsDriven(id, lock)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    const hint = `Make sure that ${folder} is writable and has free space, and retry.`
    throw new NotNow(`Run ${id} cannot continue: ${errorText(error)}.`, hint)
  }
}

/** The named run, or the newest incomplete one. */
function chooseRun(
  places: ProjectRecords,
  word: string | undefined,
  { notice }: FrontEnd,
): RunBrief {
  if (word !== undefined) return findRun(places, word)
  const runs = listOwnRuns(places).filter((run) => !isNestedRun(run, places))
  const isOpen = ({ status, folder }: RunBrief) => RESUMABLE.includes(status) && !isChat(folder)
  const run = runs.find(isOpen) ?? findRun(places, undefined)
  const [unreadable] = unreadableNewerThan(places, run.id)
  if (unreadable !== undefined) {
    throw new NotNow(
      `The record of the newest run ${unreadable} cannot be read.`,
      `To resume the one before it: forkhestra resume ${run.id}`,
    )
  }
  const newest = runs.find(({ folder }) => !isChat(folder))
  if (newest !== undefined && newest.id > run.id) notice(describeChoice(newest, run))
  return run
}

/** Explains why a newer run is skipped. */
function describeChoice(newest: RunBrief, { id, status, state }: RunBrief): string {
  const end = state.ended?.at ?? state.startedAt
  const which = end === undefined ? status : `${ENDINGS[status] ?? status} on ${localTime(end)}`
  return `The newest run ${newest.id} is ${newest.status}; resuming ${id}, which ${which}`
}

const ENDINGS: Partial<Record<RunBrief['status'], string>> = {
  failed: 'failed',
  stopped: 'was stopped',
  dead: 'was killed',
}

const RESUMABLE: readonly RunBrief['status'][] = ['failed', 'stopped', 'dead']

async function readResumable(
  run: RunBrief,
  lock: RunLock,
  frontEnd: FrontEnd,
  options: ResumeRequest,
  before: readonly string[],
): Promise<Resumable> {
  const { id, folder } = run
  if (options.newQueue === true) {
    const kept = await renewStore(folder, frontEnd.env)
    const old = kept === undefined ? '' : ` The old one is kept as ${kept}`
    frontEnd.notice(`The run continues with an empty queue.${old}`)
  } else await refuseUnsound(id, folder, frontEnd.env)
  const { state, seq, damage } = readRunState(folder)
  if (state.ended?.ok === true || isChat(folder)) {
    lock.release()
    return { kind: 'finished', run, isChat: isChat(folder) }
  }
  const env = agentEnvironment(frontEnd.env)
  const { prompt } = options
  const {
    plan: recorded,
    warnings,
    content,
    changes,
    lost,
  } = await readRecorded(id, folder, env, prompt)
  checkFolder(id, recorded.cwd)
  const { overrides = {} } = options
  const silent = overrides.notify === undefined && lost > 0 ? [LOST_NOTIFY] : []
  const plan = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const workingTree = takeWorkingTree(plan, frontEnd.env, options.anyway === true)
  try {
    const ended = await endOrphansOf(
      { run: id, record: folder },
      options.killOrphans === true,
      frontEnd,
    )
    const session = {
      env,
      stamp: stampFor(id, seq),
      agents: await agentsOf(plan, env),
      content,
      resumed: { folder, lock, state, lostMs: run.lostMs },
    }
    const all = [...before, ...damageWarnings(damage), ...warnings, ...ended, ...changes, ...silent]
    return {
      kind: 'ready',
      ready: { plan, warnings: all, session },
      release: () => workingTree.leave(),
    }
  } catch (error) {
    workingTree.leave()
    throw error
  }
}

const LOST_NOTIFY =
  'some notifications are off, because the record does not contain their URL or another secret; pass --notify again'

function damageWarnings(damage: readonly string[]): string[] {
  if (damage.length === 0) return []
  return [`the record is damaged: ${damage.join(', ')}. The run continues with what is left`]
}

function checkFolder(id: string, cwd: string): void {
  if (statOf(cwd)?.isDirectory() === true) return
  throw new UserError(
    `The folder of run ${id} is gone: ${cwd}`,
    'A run resumes where it was started. Restore the folder, or start a new run.',
  )
}

/** The recorded plan, with the secrets that the record does not contain. */
export async function readRecorded(
  id: string,
  folder: string,
  env: Record<string, string>,
  prompt?: string,
) {
  const found = readPlan(folder)
  if (found === undefined) {
    throw new UserError(`Run ${id} ended before its plan was written.`, 'Start a new run.')
  }
  const plan = readRecordedPlan(folder)
  if (plan === undefined) {
    throw new UserError(
      `The plan of run ${id} was made by forkhestra ${found.version}, and this is ${VERSION}.`,
      'Resume it with that version, or start a new run.',
    )
  }
  const isOlder = found.version !== VERSION
  const warnings = isOlder ? [`the run was started by forkhestra ${found.version}`] : []
  const { content, changes } = await compareConfiguration(plan, env)
  const { notify, webhooks, lost } = restoreNotify(plan.notify, webhooksIn(content), env)
  const known = { ...plan, ...dropUndefined({ notify }) }
  const whole = withSecrets(id, known, env, { content, prompt, webhooks })
  return { plan: whole, warnings, content, changes, lost }
}

/** Drops recipients with an unknown secret: they must not prevent a resume. Returns the URLs of all others by name. */
function restoreNotify(
  recorded: Plan['notify'],
  configured: Record<string, string>,
  env: Record<string, string>,
) {
  const found = recorded?.map((target) => unmask(target, { ...env, ...configured }))
  const notify = found?.filter(({ missing }) => missing.length === 0).map(({ value }) => value)
  // The names depend on the positions in the whole list.
  const inPlan = webhooksOf(
    found?.map(({ value }) => value),
    env,
  )
  const lost = (found?.length ?? 0) - (notify?.length ?? 0)
  return { notify, webhooks: { ...configured, ...inPlan }, lost }
}

function withSecrets(
  id: string,
  whole: Plan,
  env: Record<string, string>,
  { content, prompt, webhooks }: Sources & { readonly webhooks: Record<string, string> },
): Plan {
  const { plan: recorded, text } = withoutConfigurationText(whole)
  if (prompt !== undefined && !findMissingTexts(recorded).some(({ isPrompt }) => isPrompt)) {
    throw refusePrompt(id, recorded, env)
  }
  const known = { ...env, ...webhooks, ...configuredSecrets(recorded, content) }
  const named = secretsOf(unmask(recorded, known).value, env, content?.agents ?? {})
  const mask = new Mask({ ...webhooks, ...named })
  const restored = restoreTexts(recorded, { content, prompt }, mask)
  const { value, missing } = unmask(restored, known)
  if (missing.length > 0) throw refusal(id, missing, findMissingTexts(restored), prompt)
  const { configuration } = value
  if (configuration === undefined || text === undefined) return value
  return { ...value, configuration: { ...configuration, text } }
}

function refusePrompt(id: string, plan: Plan, env: Record<string, string>): UserError {
  const { missing } = unmask(
    allSteps(plan).map(({ prompt }) => prompt),
    env,
  )
  if (missing.length > 0) {
    return new UserError(
      `The record of run ${id} contains the whole prompt, except the value of ${missing.join(', ')}.`,
      `Leave out --prompt and set ${missing.join(' and ')}: ${missing[0]}=… forkhestra resume ${id}`,
    )
  }
  return new UserError(
    `The record of run ${id} contains the whole prompt.`,
    'Leave out --prompt. To use another prompt, start a new run.',
  )
}

/** Lists the missing secrets, and what to do about them. */
function refusal(
  id: string,
  missing: readonly string[],
  texts: readonly MissingText[],
  prompt: string | undefined,
): UserError {
  const names = missing.filter((name) => name !== MASKED)
  const isPrompt = texts.some((text) => text.isPrompt)
  const isElsewhere = texts.some((text) => !text.isPrompt)
  const hints = [
    ...(names.length > 0 ? [`Set ${names.join(' and ')} again, and retry.`] : []),
    ...(isPrompt && prompt === undefined
      ? ['Pass exactly the same prompt again: --prompt TEXT.']
      : []),
    ...(isPrompt && prompt !== undefined ? ['--prompt differs from the prompt of the run.'] : []),
    ...(names.length > 0 || isElsewhere
      ? ['If a secret was typed in plain text, or the configuration has changed, start a new run.']
      : []),
  ]
  const what = [...names, ...texts.map(({ words }) => words)].join(', ')
  return new NotNow(
    `The record of run ${id} does not contain these secrets of its plan: ${what}.`,
    hints.join(' '),
  )
}

/** The values of variables in the configuration, if it has not changed. */
function configuredSecrets(plan: Plan, content: ChainsConfig | undefined): Record<string, string> {
  const chains = content?.chains ?? {}
  const chain = plan.chain === undefined ? undefined : chains[plan.chain]
  const steps = chain === undefined ? [] : agentSteps(expandChain(chain, chains, plan.chain).steps)
  const secrets: Record<string, string> = {}
  for (const step of allSteps(plan)) {
    const own = steps[step.number - 1]?.env
    const levels = [content?.agents?.[step.agent.name]?.env, chain?.env, own]
    for (const [name, value] of levels.flatMap((env) => Object.entries(env ?? {})))
      secrets[nameIn(step, name)] = value
  }
  return secrets
}
