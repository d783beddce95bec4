import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { NotNow, UserError } from '../base/errors.ts'
import type { Leftover } from '../events/schema.ts'
import type { RecordPlaces } from '../journal/record-folder.ts'
import { holderOf } from '../journal/run-lock.ts'
import { Family, findLeft } from '../run/family.ts'

/** Processes that a dead run has left behind. */
interface Orphans {
  readonly run: string
  readonly processes: readonly Leftover[]
}

/** Of every run whose process is dead, what it has started and nobody has ended. */
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

/** Ends what dead runs have left behind, where the user wants it; what is left is told in words. */
export async function dealWithOrphans(places: RecordPlaces, mayKill: boolean): Promise<string[]> {
  const warnings: string[] = []
  for (const orphans of findOrphans(places)) {
    const words = `the run ${orphans.run} is dead and has left running: ${namesOf(orphans)}`
    if (mayKill || (await agrees(words))) warnings.push(await end(orphans))
    else warnings.push(`${words}; to end it: --kill-orphans`)
  }
  return warnings
}

/** The same for a run that is to go on: two agents at one iteration would undo each other's work. */
export async function endOrphansOf(run: string, mayKill: boolean): Promise<string[]> {
  const orphans = { run, processes: Family.left(run).list() }
  if (orphans.processes.length === 0) return []
  const words = leftWords(orphans)
  if (mayKill || (await agrees(words))) return [await end(orphans)]
  throw new NotNow(...refusal(orphans))
}

/**
 * Asks beforehand whether what a run has left running may be ended: who is refused has changed
 * nothing yet. `isDriven` says whether it is not left at all.
 */
export async function mayEndOrphans(
  run: string,
  mayKill: boolean,
  isDriven: () => boolean,
): Promise<boolean> {
  const before = Family.left(run).list()
  if (mayKill || before.length === 0 || isDriven()) return mayKill
  // Whoever drove it until now has ended his own before he let go of it.
  const still = new Set(
    Family.left(run)
      .list()
      .map(({ pid }) => pid),
  )
  const orphans = { run, processes: before.filter(({ pid }) => still.has(pid)) }
  if (orphans.processes.length === 0) return mayKill
  if (await agrees(leftWords(orphans))) return true
  throw new NotNow(...refusal(orphans))
}

export function hasOrphans(run: string): boolean {
  return Family.left(run).list().length > 0
}

function leftWords(orphans: Orphans): string {
  return `The run ${orphans.run} has left running: ${namesOf(orphans)}`
}

function refusal(orphans: Orphans): [message: string, hint: string] {
  return [
    `${leftWords(orphans)}.`,
    'It would work beside the run that goes on. End it: --kill-orphans',
  ]
}

async function end({ run, processes }: Orphans): Promise<string> {
  const leftovers = await Family.left(run).end(new AbortController().signal)
  const survivors = leftovers.filter(({ survived }) => survived === true)
  return survivors.length === 0
    ? `ended what the run ${run} had left running: ${namesOf({ run, processes })}`
    : `could not end what the run ${run} has left running: ${namesOf({ run, processes: survivors })}`
}

function namesOf({ processes }: Orphans): string {
  return processes.map(({ pid, command }) => `${command} (pid ${pid})`).join(', ')
}

/** Asks, where somebody is there to answer; the end of the input is no agreement. */
async function agrees(words: string): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false
  // Loaded only here: hardly any run asks, and it would take a tenth of the start of each.
  const { createInterface } = await import('node:readline')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const { promise: answer, resolve, reject } = Promise.withResolvers<string>()
  lines.once('line', resolve)
  lines.once('close', () => {
    process.stderr.write('\n')
    resolve('')
  })
  lines.once('SIGINT', () => reject(new Interrupted('stopped at a question, before the run')))
  lines.setPrompt(`[forkhestra] ${words}. End it? [y/N] `)
  lines.prompt()
  try {
    return /^y(?:es)?$/i.test((await answer).trim())
  } finally {
    lines.removeAllListeners('close').close()
  }
}

/** By Ctrl-C, before anything ran that would have to be stopped. */
class Interrupted extends UserError {
  override readonly exitCode = 130
}
