import { counted } from '../base/amounts.ts'
import { errorCode, errorText, NotNow, UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { randomLetters } from '../base/ids.ts'
import { localTime } from '../base/local-time.ts'
import { Mask, unmask } from '../base/secrets/mask.ts'
import { MASKED } from '../base/secrets/encodings.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makeStamp } from '../events/event.ts'
import { readPlan, readState } from '../journal/read-run.ts'
import { holderOf, RunLock } from '../journal/run-lock.ts'
import { findRun, listOwnRuns, unreadableNewerThan, type RunBrief } from '../journal/runs.ts'
import { applyOverrides, raiseBudgets } from '../plan/make-policy.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import { stepsOf, type Plan } from '../plan/plan.ts'
import { loadConfiguration } from '../setup/configuration.ts'
import { ownFolder } from '../setup/own-folder.ts'
import { VERSION } from '../setup/version.ts'
import { UsageError, type Input } from './command.ts'
import { changedConfiguration } from './configuration-changes.ts'
import { lackingIn, restoreTexts, withoutConfigurationText, type Lacking } from './plan-texts.ts'
import { nameIn, secretsOf } from './secrets.ts'
import { endOrphansOf } from './orphans.ts'
import { readOverrides } from './overrides.ts'
import { agentsOf } from './queue/configuration.ts'
import { refuseUnsound, renewStore } from './queue/store.ts'
import { isChat } from './records/is-chat.ts'
import { ForeignRecord, takeOver } from './records/foreign.ts'
import { recordsOf, type Places } from './records/place.ts'
import { withQueue, type QueuedBrief } from './records/with-queue.ts'
import { takeWorkingTree } from './working-tree.ts'

/** Another process carries the run out. */
export class RunIsDriven extends NotNow {
  constructor(run: string, { pid, since }: { readonly pid: number; readonly since: string }) {
    super(
      `The run ${run} is carried out by process ${pid} since ${localTime(since)}.`,
      `Watch it: forkhestra logs ${run} --follow`,
    )
  }
}

/** The verb `resume`: goes on with a recorded plan where its record ends. */
export async function resumeRun(input: Input): Promise<number> {
  const places = recordsOf(input)
  const run = chooseRun(places, input)
  const { id, folder } = run
  const isTrusted = input.flag('trust-record')
  const warnings = isTrusted ? takeOver(run, places) : await refuseForeign(run, places, input)
  const isDead = holderOf(folder) !== undefined
  const lock = takeLock(id, folder)
  if (!(lock instanceof RunLock)) throw new RunIsDriven(id, lock)
  try {
    return await goOn(run, lock, input, warnings)
  } catch (error) {
    // Nothing was begun: whoever comes next finds the run as it was, with the lock of a dead process
    // where it died, by which what it left running is found.
    if (error instanceof UserError && !isDead) lock.release()
    throw error
  }
}

/** A run whose record cannot be written cannot continue. */
function takeLock(id: string, folder: string): ReturnType<typeof RunLock.take> {
  try {
    return RunLock.take(folder)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    throw new NotNow(
      `The run ${id} cannot continue: ${errorText(error)}.`,
      'Fix the problem (for example, free disk space) and retry.',
    )
  }
}

/** The one that was named, or the newest that is not complete. */
function chooseRun(places: Places, input: Input): RunBrief {
  const [word, surplus] = input.positionals
  if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`)
  if (word !== undefined) return findRun(places, word)
  if (input.flag('trust-record')) {
    throw new UsageError('--trust-record needs the id of the run.', 'See: forkhestra runs')
  }
  const runs = listOwnRuns(places)
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
  if (newest !== undefined && newest.id > run.id)
    console.error(`[forkhestra] ${describeChoice(newest, run)}`)
  return run
}

/** A newer run is passed over, which the user may not expect. */
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

/** Shows what a run from elsewhere would do, so that the user can decide whether to trust it. */
async function refuseForeign(run: RunBrief, places: Places, input: Input): Promise<string[]> {
  const foreign = places.origins.strictly(run.folder)
  if (foreign === undefined) return []
  const { showForeignPlan } = await import('./records/show-foreign-plan.ts')
  showForeignPlan(run, input)
  throw new ForeignRecord(run, foreign)
}

const RESUMABLE: readonly RunBrief['status'][] = ['failed', 'stopped', 'dead']

async function goOn(
  run: RunBrief,
  lock: RunLock,
  input: Input,
  before: readonly string[],
): Promise<number> {
  const { id, folder } = run
  if (input.flag('new-queue')) await beginNewQueue(folder)
  else await refuseUnsound(id, folder)
  const { state, seq, damage } = readState(folder)
  const isTalk = isChat(folder)
  if (state.ended?.ok === true || isTalk) {
    lock.release()
    const { goOnWithQueue } = await import('./queue/run-queue.ts')
    const code = await goOnWithQueue(input, id, folder)
    if (code !== undefined) return code
    if (isTalk) {
      const command = `forkhestra chat --resume ${id}`
      console.error(`[forkhestra] The run ${id} is a chat; to go on talking: ${command}`)
      return 0
    }
    return describeFinished(withQueue(run))
  }
  const env = makeAgentEnvironment(process.env, ownFolder())
  const { plan: recorded, warnings } = await readRecorded(id, folder, env, input.text('prompt'))
  checkFolder(id, recorded.cwd)
  const overrides = readOverrides(input)
  const plan = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const seat = takeWorkingTree(plan, input)
  try {
    const ended = await endOrphansOf(id, input.flag('kill-orphans'))
    const changed = await changedConfiguration(plan, env)
    const { carryOut } = await import('./carry-out.ts')
    return await carryOut(
      plan,
      [...before, ...damageWarnings(damage), ...warnings, ...ended, ...changed],
      {
        env,
        stamp: makeStamp(id, `w-${randomLetters(6)}`, seq + 1),
        verbose: input.flag('verbose'),
        json: input.flag('json'),
        agents: await agentsOf(plan),
        content: await unchangedConfiguration(plan),
        resumed: { folder, lock, state },
      },
    )
  } finally {
    seat.leave()
  }
}

/** Nothing is left to resume; what its queue still needs is done by other commands. */
function describeFinished({ id, status, counts }: QueuedBrief): number {
  const { queued = 0, failed = 0 } = counts ?? {}
  const isDone = status === 'complete'
  const lines = [
    isDone ? 'is complete: there is nothing to go on with.' : 'has no steps to resume.',
    ...(failed === 0
      ? []
      : [`has ${counted(failed, 'failed task')}; see why: forkhestra show ${id}`]),
    ...(failed === 0
      ? []
      : [`does not retry failed tasks; push them again: forkhestra push --run ${id} "PROMPT"`]),
    ...(queued === 0
      ? []
      : [`has ${counted(queued, 'queued task')}; start: forkhestra run-queue --run ${id}`]),
  ]
  for (const line of lines) console.error(`[forkhestra] The run ${id} ${line}`)
  return isDone || failed === 0 ? 0 : 1
}

async function beginNewQueue(folder: string): Promise<void> {
  const kept = await renewStore(folder)
  const old = kept === undefined ? '' : ` The old one is kept as ${kept}`
  console.error(`[forkhestra] The run continues with an empty queue.${old}`)
}

function damageWarnings(damage: readonly string[]): string[] {
  if (damage.length === 0) return []
  return [`the record is damaged: ${damage.join(', ')}. The run goes on by what the others tell`]
}

function checkFolder(id: string, cwd: string): void {
  if (statOf(cwd)?.isDirectory() === true) return
  throw new UserError(
    `The folder of the run ${id} is gone: ${cwd}`,
    'A run goes on where it began. Bring the folder back, or start the run again.',
  )
}

/** The plan as it was made, with its secrets; those alone are not in the record. */
export async function readRecorded(
  id: string,
  folder: string,
  env: Record<string, string>,
  prompt?: string,
) {
  const found = readPlan(folder)
  if (found === undefined) {
    throw new UserError(`The run ${id} ended before its plan was written.`, 'Start it again.')
  }
  if (!isPlan(found.plan)) {
    throw new UserError(
      `The plan of the run ${id} was made by forkhestra ${found.version}, and this is ${VERSION}.`,
      'Go on with that version, or start it again.',
    )
  }
  const isOlder = found.version !== VERSION
  const warnings = isOlder ? [`the run was begun by forkhestra ${found.version}`] : []
  return { plan: await withSecrets(id, found.plan, env, prompt), warnings }
}

async function withSecrets(
  id: string,
  whole: Plan,
  env: Record<string, string>,
  prompt: string | undefined,
): Promise<Plan> {
  const { plan: recorded, text } = withoutConfigurationText(whole)
  if (prompt !== undefined && !lackingIn(recorded).some(({ isPrompt }) => isPrompt)) {
    throw new UserError(
      `The record of the run ${id} holds all of its prompt.`,
      'Leave --prompt out. With another prompt it is another run.',
    )
  }
  const content = await unchangedConfiguration(recorded)
  const known = { ...env, ...configuredSecrets(recorded, content) }
  const mask = new Mask(secretsOf(unmask(recorded, known).value, env, content?.agents ?? {}))
  const restored = restoreTexts(recorded, { content, prompt }, mask)
  const { value, missing } = unmask(restored, known)
  if (missing.length > 0) throw refusal(id, missing, lackingIn(restored), prompt)
  const { configuration } = value
  if (configuration === undefined || text === undefined) return value
  return { ...value, configuration: { ...configuration, text } }
}

/** Says what is missing, where, and what can be done about each. */
function refusal(
  id: string,
  missing: readonly string[],
  texts: readonly Lacking[],
  prompt: string | undefined,
): UserError {
  const names = missing.filter((name) => name !== MASKED)
  const isPrompt = texts.some((text) => text.isPrompt)
  const isElsewhere = texts.some((text) => !text.isPrompt)
  const hints = [
    ...(names.length > 0 ? ['Set the variables again.'] : []),
    ...(isPrompt && prompt === undefined
      ? ['Give the prompt again, word for word: --prompt TEXT.']
      : []),
    ...(isPrompt && prompt !== undefined ? ['--prompt is not the prompt of the run.'] : []),
    ...(names.length > 0 || isElsewhere
      ? [
          'What was typed in plain, or has changed in the configuration since, can only be started again.',
        ]
      : []),
  ]
  const what = [...names, ...texts.map(({ words }) => words)].join(', ')
  return new NotNow(
    `The plan of the run ${id} holds secrets that its record does not: ${what}.`,
    hints.join(' '),
  )
}

function isPlan(value: unknown): value is Plan {
  return typeof value === 'object' && value !== null && 'root' in value && 'recoveries' in value
}

/** The values that the configuration gives, where it is still the one that the plan was made from. */
function configuredSecrets(plan: Plan, content: ChainsConfig | undefined): Record<string, string> {
  const chain = plan.chain === undefined ? undefined : content?.chains[plan.chain]
  const secrets: Record<string, string> = {}
  for (const step of [...stepsOf(plan.root), ...plan.recoveries]) {
    const own = chain?.steps[step.number - 1]?.env
    const levels = [content?.agents?.[step.agent.name]?.env, chain?.env, own]
    for (const [name, value] of levels.flatMap((env) => Object.entries(env ?? {})))
      secrets[nameIn(step, name)] = value
  }
  return secrets
}

async function unchangedConfiguration({
  cwd,
  configuration,
}: Plan): Promise<ChainsConfig | undefined> {
  if (configuration === undefined) return undefined
  try {
    const { hash, content } = await loadConfiguration(cwd, configuration.file, process.env)
    return hash === configuration.hash ? content : undefined
  } catch {
    return undefined // Gone or broken: changed all the same.
  }
}
