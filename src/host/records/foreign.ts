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
    'its plan is not signed: it was created by an older version of forkhestra, or came with the project',
  other_id:
    'it was created by another user, on another machine, in another project, or with another state folder',
  other_user: 'its folder belongs to another user',
  tracked: 'git tracks it, so it may have come with the repository',
  changed: 'its plan does not match its signature',
}

/** The record was not created here: it can be viewed, but not run or changed. */
export class ForeignRecord extends NotNow {
  /** `isShown`: the plan has just been shown. */
  constructor({ id, folder }: Run, foreign: Foreign, isShown = false) {
    const command = `forkhestra resume ${id}`
    const see = isShown ? '' : `See its plan: ${command}\n`
    const trust = `${see}If you trust it: ${command} --trust-record`
    const hints: Readonly<Record<Foreign, string>> = {
      no_id: trust,
      other_id: trust,
      changed: trust,
      other_user: 'Only the user who created it can resume it.',
      tracked: `If you trust it, remove it from the repository first: git rm -r --cached ${folder}`,
    }
    super(
      foreign === 'changed'
        ? `The plan of run ${id} was changed: it does not match its signature.`
        : `Run ${id} was not created here: ${WHY[foreign]}.`,
      hints[foreign],
    )
  }
}

/** Refuses to run or change a record that was not created here, or whose plan was changed. */
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

/**
 * Whether commands that execute nothing accept a run: unsigned ones from 0.1.0 are accepted, foreign ones are
 * not.
 */
export function isOwnOrUnsigned({ foreign }: { readonly foreign?: Foreign | undefined }): boolean {
  return foreign === undefined || foreign === 'no_id'
}

/** Why a run counts as foreign; undefined if it was created here. */
export function describeForeign(foreign: Foreign | undefined): string | undefined {
  return foreign === undefined ? undefined : WHY[foreign]
}

/** Shows a run; an error in its record is reported as damage. */
export async function reportingDamage<Result>(
  { id, folder, foreign }: RunBrief,
  show: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await show()
  } catch (error) {
    if (error instanceof UserError) throw error
    const hint = foreign === undefined ? 'It is damaged.' : 'It was not created here.'
    throw new NotNow(
      `The record of run ${id} cannot be shown: ${printable(errorText(error))}.`,
      `${hint} See ${folder}`,
    )
  }
}

/** Signs a record that the user trusts, and returns warnings. */
export function signForeign(run: Run, { origins }: RecordPlaces): string[] {
  const foreign = origins.checkStrictly(run.folder)
  if (foreign === undefined) return []
  if (foreign === 'other_user' || foreign === 'tracked') throw new ForeignRecord(run, foreign)
  chmodSync(run.folder, 0o700)
  if (origins.sign(run.folder, readPlan(run.folder)?.plan)) return []
  return ['the record cannot be signed, so the next resume needs --trust-record again']
}
