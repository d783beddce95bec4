import { chmodSync } from 'node:fs'
import { NotNow, UserError, errorText } from '../../base/errors.ts'
import { randomLetters } from '../../base/ids.ts'
import { printable } from '../../base/printable.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../events/event.ts'
import type { Foreign } from '../../journal/origins.ts'
import type { RecordPlaces } from '../../journal/record-folder.ts'
import type { RunBrief } from '../../journal/runs.ts'
import type { Plan, StepNode } from '../../plan/plan.ts'
import { lookAround } from '../../setup/facts.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import { makeTaskPort } from '../../setup/task-port.ts'
import { renderRuns } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../project.ts'
import { showPlan } from '../show-plan.ts'
import { describeRun } from './describe-run.ts'
import { allSteps, readRecordedPlan } from './recorded-plan.ts'

type Run = Pick<RunBrief, 'id' | 'folder'>

const WHY: Readonly<Record<Foreign, string>> = {
  no_id: 'forkhestra 0.1.0 made it, or it came with the project',
  other_id: 'it was made by another user, on another machine, or with another state folder',
  other_user: 'its folder belongs to another user',
  tracked: 'git tracks it, so it may have come with the repository',
}

/** A record that may be looked at, and no more. */
export class ForeignRecord extends NotNow {
  constructor({ id, folder }: Run, foreign: Foreign) {
    const command = `forkhestra resume ${id}`
    const hints: Readonly<Record<Foreign, string>> = {
      no_id: `See its plan: ${command}\nIf you trust it: ${command} --trust-record`,
      other_id: `See its plan: ${command}\nIf you trust it: ${command} --trust-record`,
      other_user: 'Only the user who made it can carry it out.',
      tracked: `If you trust it, take it out of the repository first: git rm -r --cached ${folder}`,
    }
    super(`Run ${id} was not made here: ${WHY[foreign]}.`, hints[foreign])
  }
}

/** Refuses to carry out, or to change, what was not made here. */
export function checkOwn(run: Run, { origins }: RecordPlaces): void {
  const foreign = origins.strictly(run.folder)
  if (foreign !== undefined) throw new ForeignRecord(run, foreign)
}

/** Whether a run counts where nothing is carried out: one of 0.1.0 does, what others made does not. */
export function isFamiliar({ foreign }: { readonly foreign?: Foreign | undefined }): boolean {
  return foreign === undefined || foreign === 'no_id'
}

/** A line for people about where a run comes from. */
export function foreignLine({ id, foreign }: Pick<RunBrief, 'id' | 'foreign'>): string[] {
  return foreign === undefined ? [] : [`Run ${id} was not made here: ${WHY[foreign]}`]
}

export function foreignWords(foreign: Foreign | undefined): string | undefined {
  return foreign === undefined ? undefined : WHY[foreign]
}

/** Whether a run can be listed: whatever others wrote into its events may be of any shape. */
export function isPresentable(run: RunBrief): boolean {
  if (run.foreign === undefined) return true
  try {
    renderRuns([run], Date.now())
    describeRun(run, Date.now())
    return true
  } catch {
    return false
  }
}

/** Shows a run; where others made it and it makes no sense, that is no mistake of this program. */
export async function lookAt<Result>(
  { id, folder, foreign }: RunBrief,
  show: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await show()
  } catch (error) {
    if (foreign === undefined || error instanceof UserError) throw error
    throw new NotNow(
      `The record of run ${id} cannot be shown: ${printable(errorText(error))}.`,
      `It was not made here. See ${folder}`,
    )
  }
}

/** Makes a record ours, because the user says so; what is to be said about that is returned. */
export function takeOver(run: Run, { origins }: RecordPlaces): string[] {
  const foreign = origins.strictly(run.folder)
  if (foreign === undefined) return []
  if (foreign === 'other_user' || foreign === 'tracked') throw new ForeignRecord(run, foreign)
  chmodSync(run.folder, 0o700)
  if (origins.sign(run.folder)) return []
  return ['the record cannot be signed, so that --trust-record is needed the next time, too']
}

/** Shows what a run would do that was not made here. No path in its plan is followed. */
export function showForeignPlan({ id, folder }: Run, input: Input): void {
  try {
    const plan = readRecordedPlan(folder)
    if (plan === undefined) throw new UserError('it has none')
    const env = makeAgentEnvironment(process.env, ownFolder())
    const facts = { ...lookAround(env), readPrompt: (path: string) => `(the content of ${path})` }
    const tasks = makeTaskPort(projectOf(input).folder, id, env)
    const stamp = makeStamp(id, `w-${randomLetters(6)}`)
    const inFull: Input = { ...input, flag: (name) => name === 'verbose' || input.flag(name) }
    showPlan(withoutCommands(plan), placeLines(plan), facts, tasks, inFull, stamp, env)
  } catch (error) {
    throw new NotNow(
      `The plan of run ${id} cannot be shown: ${errorText(error)}.`,
      'A run whose plan nobody can see is not carried out.',
    )
  }
}

/** What a dry run does not say, because the user has typed it. */
function placeLines(plan: Plan): string[] {
  const variables = allSteps(plan).flatMap(({ number, policy }) =>
    Object.entries(policy.env).map(([name, value]) => `step ${number} sets ${name}=${value}`),
  )
  return [`it works in ${plan.cwd}`, ...variables]
}

/** Their prompts are shown as they are, and what they want to be read is not looked for. */
function withoutCommands(plan: Plan): Plan {
  const plain = (step: StepNode): StepNode => ({ ...step, rawPrompt: true })
  const of = plan.root.of.map((node) => (node.kind === 'step' ? plain(node) : node))
  return { ...plan, root: { ...plan.root, of }, recoveries: plan.recoveries.map(plain) }
}
