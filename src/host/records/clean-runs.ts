import { basename } from 'node:path'
import { isDriven } from '../../records/journal/run-lock.ts'
import { oldRecords, pruneRuns, type Pruned, type WhyWanted } from '../../records/journal/runs.ts'
import type { ProjectRecords } from './place.ts'
import { whyWanted } from './unfinished-queues.ts'

export interface CleanOptions {
  /** How many of the newest runs are kept. */
  readonly keep: number
  /** Also removes runs that were not created here. */
  readonly withForeign: boolean
  /** Also removes runs with tasks or results in their queue. */
  readonly withQueues: boolean
  /** Removes nothing. */
  readonly isDry: boolean
}

interface Cleaned extends Pruned {
  readonly kept: readonly { readonly id: string; readonly why: string }[]
}

export const TRACKED = 'git tracks it; to remove it: git rm -r'
export const FOREIGN = 'it was not created here'

/** Removes old records, or determines which ones would be removed. */
export async function cleanRuns(places: ProjectRecords, options: CleanOptions): Promise<Cleaned> {
  const whyKept = makeWhyKept(places, options)
  const old = findOld(places, options)
  const kept: { id: string; why: string }[] = []
  for (const folder of old) {
    const why = await whyKept(folder)
    if (why !== undefined) kept.push({ id: basename(folder), why })
  }
  if (!options.isDry) return { kept, ...(await pruneRuns(places, old, whyKept)) }
  const isKept = (id: string) => kept.some((each) => each.id === id)
  const removed = old.map((folder) => basename(folder)).filter((id) => !isKept(id))
  return { kept, removed, failed: [] }
}

function makeWhyKept(
  { origins }: ProjectRecords,
  { withForeign, withQueues }: CleanOptions,
): WhyWanted {
  return (folder) => {
    const foreign = origins.checkStrictly(folder)
    if (foreign === 'tracked') return TRACKED
    const isOwn = foreign === undefined || foreign === 'changed'
    if (!isOwn && !withForeign) return FOREIGN
    // A foreign database is not even opened.
    const isOpened = isOwn || foreign === 'no_id'
    return isOpened && !withQueues ? whyWanted(folder) : undefined
  }
}

/** Old records, and foreign ones, which are only listed; records of active runs are left out. */
function findOld(places: ProjectRecords, { keep, withForeign }: CleanOptions): string[] {
  const all = oldRecords(places, 0, true)
  const old = new Set(oldRecords(places, keep, withForeign))
  const isListed = (folder: string) =>
    old.has(folder) || (!withForeign && !places.origins.isSigned(folder))
  return all.filter(isListed).filter((folder) => !isDriven(folder))
}
