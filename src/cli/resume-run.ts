import { UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { randomLetters } from '../base/ids.ts'
import { unmask } from '../base/mask.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makeStamp } from '../events/event.ts'
import { readPlan, readState } from '../journal/read-run.ts'
import { recordRoot } from '../journal/record-folder.ts'
import { RunLock } from '../journal/run-lock.ts'
import { findRun, listRuns, type RunBrief } from '../journal/runs.ts'
import { applyOverrides, raiseBudgets } from '../plan/make-policy.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import { stepsOf, type Plan } from '../plan/plan.ts'
import { loadConfiguration, resolveCwd } from '../setup/configuration.ts'
import { ownFolder } from '../setup/own-folder.ts'
import { VERSION } from '../setup/version.ts'
import { UsageError, type Input } from './command.ts'
import { nameIn } from './secrets.ts'
import { endOrphansOf } from './orphans.ts'
import { readOverrides } from './overrides.ts'
import { agentsOf } from './queue/configuration.ts'
import { isChat } from './records/is-chat.ts'

/** Another process carries the run out. */
export class RunIsDriven extends UserError {
  override readonly exitCode = 1

  constructor(run: string, { pid, since }: { readonly pid: number; readonly since: string }) {
    super(
      `The run ${run} is carried out by process ${pid} since ${since}.`,
      `Watch it: forkhestra logs ${run} --follow`,
    )
  }
}

/** The verb `resume`: goes on with a recorded plan where its record ends. */
export async function resumeRun(input: Input): Promise<number> {
  const cwd = resolveCwd(input.text('cwd'))
  const root = recordRoot(cwd, process.env)
  if (root === undefined) throw new UserError('HOME is no absolute path, so there are no records.')
  const { id, folder } = chooseRun(root, input.positionals)
  const lock = RunLock.take(folder)
  if (!(lock instanceof RunLock)) throw new RunIsDriven(id, lock)
  // Where it cannot go on, the lock stays: as that of a process that is dead.
  return goOn(id, folder, lock, input)
}

/** The one that was named, or the newest that is not complete. */
function chooseRun(root: string, [word, surplus]: readonly string[]): RunBrief {
  if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`)
  if (word !== undefined) return findRun(root, word)
  const [newest, ...older] = listRuns(root)
  if (newest === undefined) {
    throw new UserError('There is no run yet.', `Its record would be in ${root}.`)
  }
  const isOpen = ({ status, folder }: RunBrief) => RESUMABLE.includes(status) && !isChat(folder)
  return [newest, ...older].find(isOpen) ?? newest
}

const RESUMABLE: readonly RunBrief['status'][] = ['failed', 'stopped', 'dead']

async function goOn(id: string, folder: string, lock: RunLock, input: Input): Promise<number> {
  const { state, seq } = readState(folder)
  const isTalk = isChat(folder)
  if (state.ended?.ok === true || isTalk) {
    lock.release()
    const { goOnWithQueue } = await import('./queue/run-queue.ts')
    const code = await goOnWithQueue(input, id, folder)
    if (code !== undefined) return code
    const words = isTalk
      ? `is a chat; to go on talking: forkhestra chat --resume ${id}`
      : 'is complete: there is nothing to go on with.'
    console.error(`[forkhestra] The run ${id} ${words}`)
    return 0
  }
  const env = makeAgentEnvironment(process.env, ownFolder())
  const { plan: recorded, warnings } = await readRecorded(id, folder, env)
  checkFolder(id, recorded.cwd)
  const overrides = readOverrides(input)
  const plan = raiseBudgets(applyOverrides(recorded, overrides), overrides.budget ?? {})
  const ended = await endOrphansOf(id, input.flag('kill-orphans'))
  const changed = await changedConfiguration(plan)
  const { carryOut } = await import('./carry-out.ts')
  return carryOut(plan, [...warnings, ...ended, ...changed], {
    env,
    stamp: makeStamp(id, `w-${randomLetters(6)}`, seq + 1),
    verbose: input.flag('verbose'),
    json: input.flag('json'),
    agents: await agentsOf(plan),
    resumed: { folder, lock, state },
  })
}

function checkFolder(id: string, cwd: string): void {
  if (statOf(cwd)?.isDirectory() === true) return
  throw new UserError(
    `The folder of the run ${id} is gone: ${cwd}`,
    'A run goes on where it began. Bring the folder back, or start the run again.',
  )
}

/** The plan as it was made, with its secrets; those alone are not in the record. */
export async function readRecorded(id: string, folder: string, env: Record<string, string>) {
  const found = readPlan(folder)
  if (found === undefined) {
    throw new UserError(`The run ${id} ended before its plan was written.`, 'Start it again.')
  }
  const configured = isPlan(found.plan) ? await configuredSecrets(found.plan) : {}
  const { value, missing } = unmask(found.plan, { ...env, ...configured })
  if (missing.length > 0) {
    throw new UserError(
      `The plan of the run ${id} holds secrets that its record does not: ${missing.join(', ')}.`,
      'Set the variables again. What was typed in plain, or has changed in the configuration since, can only be started again.',
    )
  }
  if (!isPlan(value)) {
    throw new UserError(
      `The plan of the run ${id} was made by forkhestra ${found.version}, and this is ${VERSION}.`,
      'Go on with that version, or start it again.',
    )
  }
  const isOlder = found.version !== VERSION
  const warnings = isOlder ? [`the run was begun by forkhestra ${found.version}`] : []
  return { plan: value, warnings }
}

function isPlan(value: unknown): value is Plan {
  return typeof value === 'object' && value !== null && 'root' in value && 'recoveries' in value
}

/** The values that the configuration gives, where it is still the one that the plan was made from. */
async function configuredSecrets(plan: Plan): Promise<Record<string, string>> {
  const content = await unchangedConfiguration(plan)
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

/** The recorded plan is carried out; that it would be another one now is worth a word. */
async function changedConfiguration(plan: Plan): Promise<string[]> {
  const { configuration } = plan
  if (configuration === undefined || (await unchangedConfiguration(plan)) !== undefined) return []
  return [
    `${configuration.file} has changed since; the run goes on with the plan that it was started with`,
  ]
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
