import { utimesSync } from 'node:fs'
import { statOf } from '../../base/files.ts'
import type { Places } from './places.ts'
import type { State } from './state.ts'

/**
 * By what a create knows that the one before it has seen all names of this checkout, so that it need
 * not look through them: the folder's time, set to one that no clock of a file system gives by itself.
 * Whoever adds, removes or renames a file since then leaves another time.
 */
export interface Seal {
  /** Of which prefix the highest number is known. */
  readonly prefix: string
  readonly tasksMs: number
  readonly archiveMs: number
}

/** What is as young as this may have changed again without a new time. */
const DOUBT_MS = 50

/** Times go through numbers that do not keep the last digits. */
const PRECISION_MS = 0.001

export function isSealed(places: Places, { seals = {} }: State, prefix: string): boolean {
  const seal = Object.hasOwn(seals, places.tasks) ? seals[places.tasks] : undefined
  return (
    seal?.prefix === prefix &&
    Math.abs(timeOf(places.tasks) - seal.tasksMs) < PRECISION_MS &&
    timeOf(places.archive) === seal.archiveMs
  )
}

/** The seal to be set once all names are written; undefined where it could not be trusted. */
export function makeSeal(places: Places, prefix: string, now: number): Seal | undefined {
  const archiveMs = timeOf(places.archive)
  if (archiveMs > now - DOUBT_MS) return undefined
  return { prefix, tasksMs: now + Math.random(), archiveMs }
}

/** Worktrees come and go: so many seals are kept. */
const MOST_SEALS = 20

export function withSeal(
  seals: State['seals'] = {},
  { tasks }: Places,
  seal: Seal,
): NonNullable<State['seals']> {
  const others = Object.entries(seals).filter(([folder]) => folder !== tasks)
  return Object.fromEntries([...others.slice(1 - MOST_SEALS), [tasks, seal]])
}

export function setSeal({ tasks }: Places, { tasksMs }: Seal): void {
  try {
    utimesSync(tasks, tasksMs / 1000, tasksMs / 1000)
  } catch {
    // Without it the next create looks through the names.
  }
}

function timeOf(folder: string): number {
  return statOf(folder)?.mtimeMs ?? 0
}
