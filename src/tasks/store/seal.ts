import { utimesSync } from 'node:fs'
import { statOf } from '../../base/files.ts'
import type { Places } from './places.ts'
import type { State } from './state.ts'

/**
 * Lets `create` skip listing the folder: the previous one set the folder's modification time to a value that
 * no file system clock produces. Any file that is added, removed or renamed since changes that time.
 */
export interface Seal {
  /** The prefix whose highest number is known. */
  readonly prefix: string
  readonly tasksMs: number
  readonly archiveMs: number
}

/** A folder that changed this recently may change again without a new time. */
const DOUBT_MS = 50

/** Converting times loses the last digits. */
const PRECISION_MS = 0.001

export function isSealed(places: Places, { seals = {} }: State, prefix: string): boolean {
  const seal = Object.hasOwn(seals, places.tasks) ? seals[places.tasks] : undefined
  return (
    seal?.prefix === prefix &&
    Math.abs(timeOf(places.tasks) - seal.tasksMs) < PRECISION_MS &&
    timeOf(places.archive) === seal.archiveMs
  )
}

/** To be set after all files are written; undefined if it could not be trusted. */
export function makeSeal(places: Places, prefix: string, now: number): Seal | undefined {
  const archiveMs = timeOf(places.archive)
  if (archiveMs > now - DOUBT_MS) return undefined
  return { prefix, tasksMs: now + Math.random(), archiveMs }
}

/** Limits the seals of removed worktrees. */
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
    // Without a seal the next create lists the folder.
  }
}

function timeOf(folder: string): number {
  return statOf(folder)?.mtimeMs ?? 0
}
