import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { listCheckouts } from './checkouts.ts'
import { configPath } from './config.ts'
import type { Places } from './places.ts'
import type { Move, State } from './state.ts'

const TEMPORARY = /^\.unfinished-[a-z0-9]+$/

/**
 * Whether a change of ours can have written down such a move: a file under a temporary name of ours and a
 * task, or two names of tasks. A state may have come with the project, and must not move anything else.
 */
export function isOurMove(move: Move, here: Places, state: State): boolean {
  if (isMoveIn(move, here, [here])) return true
  const checkouts = listCheckouts({ ...state, moves: [] }, here)
  return isMoveIn(move, here, checkouts) || isWriteThroughLink(move, here, checkouts)
}

function isMoveIn({ from, to }: Move, here: Places, checkouts: readonly Places[]): boolean {
  const isKnown = (path: string) =>
    resolve(path) === path && (isTemporary(path, here, checkouts) || isTask(path, checkouts))
  return isKnown(from) && isKnown(to)
}

function isTemporary(path: string, { shared }: Places, checkouts: readonly Places[]): boolean {
  const folder = dirname(path)
  return TEMPORARY.test(basename(path)) && (folder === shared || isTaskFolder(folder, checkouts))
}

function isTask(path: string, checkouts: readonly Places[]): boolean {
  const name = basename(path)
  // The doctor keeps the whole of a task that is too long as a text beside it.
  const isName = /\.(?:md|txt)$/.test(name) && !name.startsWith('.')
  if (isName) return isTaskFolder(dirname(path), checkouts)
  return checkouts.some((each) => configPath(each) === path)
}

function isTaskFolder(folder: string, checkouts: readonly Places[]): boolean {
  return checkouts.some(({ tasks, archive }) => folder === tasks || folder === archive)
}

/** A task that is a link stays one: what it leads to is replaced. */
function isWriteThroughLink({ from, to }: Move, here: Places, checkouts: readonly Places[]) {
  if (!isTemporary(from, here, checkouts)) return false
  return checkouts.some((each) => leadsTo(each.tasks, to) || leadsTo(each.archive, to))
}

function leadsTo(folder: string, target: string): boolean {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    const links = entries.filter((each) => each.isSymbolicLink() && each.name.endsWith('.md'))
    return links.some(({ name }) => realpathSync(join(folder, name)) === target)
  } catch {
    return false
  }
}
