import { relative } from 'node:path'
import { tryOr } from '../base/errors.ts'
import { checkoutOf, withCurrentRoot } from './store/checkouts.ts'
import { tryToFreeDeadClaims } from './claims/dead-claims.ts'
import { readBody, readNotes, type Body } from './text/read-body.ts'
import { isArchived } from './archive.ts'
import { findTask } from './find.ts'
import type { TaskFolders } from './folders.ts'
import { Graph } from './ready.ts'
import { scanTasks, type Scan } from './store/scan.ts'
import { statOf } from '../base/files.ts'
import { askGitSync } from '../base/tracked.ts'
import { readLocalState } from './store/state.ts'
import type { Attempt, Claim } from './store/state-shape.ts'
import type { Task } from './task.ts'

/** Everything about one task that an agent needs to start it. */
export interface Brief extends Body {
  readonly task: Task
  readonly dependencies: readonly Dependency[]
  readonly blocks: readonly string[]
  readonly claim: Claim | undefined
  readonly attempts: readonly Attempt[]
  readonly changedAt: string | undefined
  readonly path: string
  readonly isArchived: boolean
  /** Only on request. */
  readonly commits?: readonly Commit[]
}

interface Dependency {
  readonly id: string
  readonly status: string
  readonly notes: string
}

export function makeBrief(
  folders: TaskFolders,
  word: string,
  scan: Scan = scanTasks(folders),
): Brief {
  tryToFreeDeadClaims(folders, new Date())
  const state = readLocalState(folders)
  const { task, text, path } = findTask(folders, word)
  const graph = new Graph(folders, scan)
  return {
    task,
    ...readBody(text),
    dependencies: task.dependencies.map((id) => {
      const status = graph.statusOf(id) ?? 'missing'
      const readNotesOf = () => readNotes(findTask(folders, id).text)
      return { id, status, notes: status === 'Done' ? tryOr('', readNotesOf) : '' }
    }),
    blocks: graph.waitingFor(task.id).map((each) => each.id),
    claim: shownClaim(state.claims[task.id], folders),
    attempts: state.attempts[task.id] ?? [],
    changedAt: statOf(path)?.mtime.toISOString(),
    path,
    isArchived: isArchived({ path }, folders),
  }
}

/** A claim that was settled here, or in a removed checkout, is not shown. */
function shownClaim(claim: Claim | undefined, here: TaskFolders): Claim | undefined {
  if (claim === undefined) return undefined
  const there = checkoutOf(claim, here)
  const isElsewhere = there !== undefined && there !== here
  return isElsewhere || claim.settled === undefined ? withCurrentRoot(claim, there) : undefined
}

export interface Commit {
  readonly commit: string
  readonly at: string
  readonly author: string
  readonly subject: string
}

/** The commits that changed a task file, newest first; empty if git does not track it. */
export function readHistory({ root }: TaskFolders, path: string): Commit[] {
  const format = '--format=%h%x00%aI%x00%an%x00%s'
  const log = askGitSync(
    root,
    ['log', '--follow', '-n', '50', format, '--', relative(root, path)],
    process.env,
  )
  return (log ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [commit = '', at = '', author = '', subject = ''] = line.split('\0')
      return { commit, at, author, subject }
    })
}
