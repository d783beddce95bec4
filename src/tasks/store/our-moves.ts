import { readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { listCheckouts } from './checkouts.ts'
import { tasksConfigPath } from './config.ts'
import type { TaskFolders } from '../folders.ts'
import type { FileMove, State } from './state-shape.ts'

const TEMPORARY = /^\.unfinished-[a-z0-9]+$/

/**
 * Whether forge-tasks could have listed this move: both paths must be tasks or temporary files. A state file
 * may have come with the project and must not move anything else.
 */
export function isOurMove(move: FileMove, here: TaskFolders, state: State): boolean {
  if (isMoveIn(move, here, [here])) return true
  const checkouts = listCheckouts({ ...state, moves: [] }, here)
  return isMoveIn(move, here, checkouts) || isWriteThroughLink(move, here, checkouts)
}

function isMoveIn(
  { from, to }: FileMove,
  here: TaskFolders,
  checkouts: readonly TaskFolders[],
): boolean {
  const isKnown = (path: string) =>
    resolve(path) === path && (isTemporary(path, here, checkouts) || isTask(path, checkouts))
  return isKnown(from) && isKnown(to)
}

function isTemporary(
  path: string,
  { shared }: TaskFolders,
  checkouts: readonly TaskFolders[],
): boolean {
  const folder = dirname(path)
  return TEMPORARY.test(basename(path)) && (folder === shared || isTaskFolder(folder, checkouts))
}

function isTask(path: string, checkouts: readonly TaskFolders[]): boolean {
  const name = basename(path)
  // The doctor keeps the full text of an oversized task in a .txt file.
  const isName = /\.(?:md|txt)$/.test(name) && !name.startsWith('.')
  if (isName) return isTaskFolder(dirname(path), checkouts)
  return checkouts.some((each) => tasksConfigPath(each) === path)
}

function isTaskFolder(folder: string, checkouts: readonly TaskFolders[]): boolean {
  return checkouts.some(({ tasks, archive }) => folder === tasks || folder === archive)
}

/** For a task that is a link, the target of the link is replaced. */
function isWriteThroughLink(
  { from, to }: FileMove,
  here: TaskFolders,
  checkouts: readonly TaskFolders[],
) {
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
