import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { NotNow } from '../base/errors.ts'
import { Mask } from '../base/secrets/mask.ts'
import { printable } from '../base/terminal/printable.ts'
import type { Leftover } from '../records/events/schema.ts'
import type { RecordPlaces } from '../records/journal/record-folder.ts'
import { holderOf } from '../records/journal/run-lock.ts'
import { Family, findLeft } from '../run/process/family.ts'
import type { FrontEnd } from './front-end.ts'

type Confirm = FrontEnd['confirm']

/** Processes that a dead run left running. */
interface Orphans {
  readonly run: string
  readonly processes: readonly Leftover[]
}

/** The processes that dead runs left running. */
function findOrphans({ roots, origins }: RecordPlaces): Orphans[] {
  const isDead = (folder: string) => holderOf(folder)?.life === 'dead' && origins.isSigned(folder)
  const dead = roots.flatMap((root) => foldersIn(root).filter((id) => isDead(join(root, id))))
  return [...findLeft(dead)].map(([run, processes]) => ({ run, processes }))
}

function foldersIn(root: string): string[] {
  try {
    return readdirSync(root).filter((name) => !name.startsWith('.'))
  } catch {
    return []
  }
}

interface OrphanChoice {
  readonly mayKill: boolean
  /** Whether a new run may work beside them. */
  readonly isShared: boolean
}

/**
 * Kills what dead runs left running if the user agrees; returns warnings. Otherwise a new run is refused,
 * because both would do the same tasks in the same files.
 */
export async function dealWithOrphans(
  places: RecordPlaces,
  { mayKill, isShared }: OrphanChoice,
  confirm: Confirm,
): Promise<string[]> {
  const warnings: string[] = []
  for (const orphans of findOrphans(places)) {
    const words = `the run ${orphans.run} is dead and left these processes running: ${namesOf(orphans)}`
    if (mayKill || (await confirm(endIt(words)))) warnings.push(await end(orphans))
    else if (isShared) warnings.push(`${words}; to kill them: --kill-orphans`)
    else
      throw new NotNow(
        `The run ${orphans.run} is dead and left these processes running: ${namesOf(orphans)}.`,
        [
          'They would work beside the new run. Kill them: add --kill-orphans',
          `Or continue the dead run: forkhestra resume ${orphans.run} --kill-orphans`,
          'Or start beside them anyway: add --anyway',
        ].join('\n'),
      )
  }
  return warnings
}

/** The same for a run that is resumed: two agents in one iteration would undo each other's work. */
export async function endOrphansOf(
  run: string,
  mayKill: boolean,
  confirm: Confirm,
): Promise<string[]> {
  const orphans = { run, processes: Family.left(run).list() }
  if (orphans.processes.length === 0) return []
  const words = describeOrphans(orphans)
  if (mayKill || (await confirm(endIt(words)))) return [await end(orphans)]
  throw new NotNow(...refusal(orphans))
}

/**
 * Asks in advance whether the processes of a dead run may be killed: a refusal changes
 * nothing yet. `isDriven` says whether it is not left at all.
 */
export async function mayEndOrphans(
  run: string,
  mayKill: boolean,
  isDriven: () => boolean,
  confirm: Confirm,
): Promise<boolean> {
  const before = Family.left(run).list()
  if (mayKill || before.length === 0 || isDriven()) return mayKill
  // The process that ran it until now killed its own children before it released the lock.
  const still = new Set(
    Family.left(run)
      .list()
      .map(({ pid }) => pid),
  )
  const orphans = { run, processes: before.filter(({ pid }) => still.has(pid)) }
  if (orphans.processes.length === 0) return mayKill
  if (await confirm(endIt(describeOrphans(orphans)))) return true
  throw new NotNow(...refusal(orphans))
}

export function hasOrphans(run: string): boolean {
  return Family.left(run).list().length > 0
}

function describeOrphans(orphans: Orphans): string {
  return `The run ${orphans.run} left these processes running: ${namesOf(orphans)}`
}

function endIt(words: string): string {
  return `${words}. Kill them?`
}

function refusal(orphans: Orphans): [message: string, hint: string] {
  return [
    `${describeOrphans(orphans)}.`,
    'They would interfere with the resumed run. Kill them: --kill-orphans',
  ]
}

async function end({ run, processes }: Orphans): Promise<string> {
  const leftovers = await Family.left(run).end(new AbortController().signal)
  const survivors = leftovers.filter(({ survived }) => survived === true)
  return survivors.length === 0
    ? `killed the processes that run ${run} left running: ${namesOf({ run, processes })}`
    : `could not kill the processes that run ${run} left running: ${namesOf({ run, processes: survivors })}`
}

function namesOf({ processes }: Orphans): string {
  const words = processes.map(({ pid, command }) => `${command} (pid ${pid})`).join(', ')
  return printable(new Mask(process.env).text(words))
}
