import { chmodSync } from 'node:fs'
import { NotNow, UserError, errorText } from '../../base/errors.ts'
import { printable } from '../../base/printable.ts'
import type { Foreign } from '../../journal/origins.ts'
import type { RecordPlaces } from '../../journal/record-folder.ts'
import type { RunBrief } from '../../journal/runs.ts'
import { renderRuns } from '../../views/runs.ts'
import { describeRun } from './describe-run.ts'

type Run = Pick<RunBrief, 'id' | 'folder'>

const WHY: Readonly<Record<Foreign, string>> = {
  no_id: 'it has no signature, so forkhestra 0.1.0 made it, or it came with the project',
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
