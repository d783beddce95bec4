import { chmodSync } from 'node:fs'
import { NotNow, UserError, errorText } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { Foreign } from '../../records/journal/origins.ts'
import type { RecordPlaces } from '../../records/journal/record-folder.ts'
import { readPlan } from '../../records/journal/read-run.ts'
import type { RunBrief } from '../../records/journal/runs.ts'

type Run = Pick<RunBrief, 'id' | 'folder'>

const WHY: Readonly<Record<Foreign, string>> = {
  no_id:
    'it has no signature for its plan: an older forkhestra made it, or it came with the project',
  other_id:
    'it was made by another user, on another machine, in another project, or with another state folder',
  other_user: 'its folder belongs to another user',
  tracked: 'git tracks it, so it may have come with the repository',
  changed: 'its plan is not the one that was signed',
}

/** The record was not made here: it can be viewed, but not run or changed. */
export class ForeignRecord extends NotNow {
  constructor({ id, folder }: Run, foreign: Foreign) {
    const command = `forkhestra resume ${id}`
    const trust = `See its plan: ${command}\nIf you trust it: ${command} --trust-record`
    const hints: Readonly<Record<Foreign, string>> = {
      no_id: trust,
      other_id: trust,
      changed: trust,
      other_user: 'Only the user who made it can resume it.',
      tracked: `If you trust it, remove it from the repository first: git rm -r --cached ${folder}`,
    }
    super(
      foreign === 'changed'
        ? `The plan of run ${id} was changed: it is not the one that was signed.`
        : `Run ${id} was not made here: ${WHY[foreign]}.`,
      hints[foreign],
    )
  }
}

/** Refuses to run or change a record that was not made here, or whose plan was changed. */
export function checkOwn(run: Run, { origins }: RecordPlaces): void {
  if (lstatOf(run.folder) === undefined)
    throw new NotNow(`The record of run ${run.id} was removed.`)
  const foreign = origins.checkStrictly(run.folder)
  if (foreign !== undefined) throw new ForeignRecord(run, foreign)
}

/** Like `checkOwn`, for commands that do not run its plan. */
export function checkMadeHere(run: Run, { origins }: RecordPlaces): void {
  const foreign = origins.checkStrictly(run.folder)
  if (foreign !== undefined && foreign !== 'changed') throw new ForeignRecord(run, foreign)
}

/** Whether commands that run nothing consider a run: unsigned ones of 0.1.0 count, those of others do not. */
export function isFamiliar({ foreign }: { readonly foreign?: Foreign | undefined }): boolean {
  return foreign === undefined || foreign === 'no_id'
}

/** Says why a run does not count as made here. */
export function foreignLine({ id, foreign }: Pick<RunBrief, 'id' | 'foreign'>): string[] {
  return foreign === undefined ? [] : [`Run ${id} was not made here: ${WHY[foreign]}`]
}

export function describeForeign(foreign: Foreign | undefined): string | undefined {
  return foreign === undefined ? undefined : WHY[foreign]
}

/** Shows a run, and reports an error in its record as damage by another program. */
export async function lookAt<Result>(
  { id, folder, foreign }: RunBrief,
  show: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await show()
  } catch (error) {
    if (error instanceof UserError) throw error
    const hint = foreign === undefined ? 'It is damaged.' : 'It was not made here.'
    throw new NotNow(
      `The record of run ${id} cannot be shown: ${printable(errorText(error))}.`,
      `${hint} See ${folder}`,
    )
  }
}

/** Signs a record that the user trusts, and returns warnings. */
export function takeOver(run: Run, { origins }: RecordPlaces): string[] {
  const foreign = origins.checkStrictly(run.folder)
  if (foreign === undefined) return []
  if (foreign === 'other_user' || foreign === 'tracked') throw new ForeignRecord(run, foreign)
  chmodSync(run.folder, 0o700)
  if (origins.sign(run.folder, readPlan(run.folder)?.plan)) return []
  return ['the record cannot be signed, so the next resume needs --trust-record again']
}
