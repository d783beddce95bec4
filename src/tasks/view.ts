import { dirname, join, relative } from 'node:path'
import { checkoutOf, withCurrentRoot } from './store/checkouts.ts'
import { tryToFreeDeadClaims } from './claims/dead-claims.ts'
import { readBody, readNotes, type Body } from './text/read-body.ts'
import { findTask, readTaskOrThrow, resolveId, type TaskText } from './find.ts'
import { renderId } from './id.ts'
import type { Places } from './store/places.ts'
import { Graph } from './ready.ts'
import { readTaskText, scanTasks, type Scan } from './store/scan.ts'
import { statOf } from '../base/files.ts'
import { runGit } from './store/git.ts'
import { readLocalState, type Attempt, type Claim } from './store/state.ts'
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

export function makeBrief(places: Places, word: string, scan: Scan = scanTasks(places)): Brief {
  const { tasks } = scan
  const before = readLocalState(places)
  const state = tryToFreeDeadClaims(places, before, new Date()) ? readLocalState(places) : before
  const found = findScanned(places, tasks, word) ?? findTask(places, word)
  const { task, text, path } = found
  const graph = new Graph(places, scan, new Map())
  return {
    task,
    ...readBody(text),
    dependencies: task.dependencies.map((id) => {
      const status = graph.statusOf(id) ?? 'missing'
      return { id, status, notes: status === 'Done' ? notesOf(places, graph, id) : '' }
    }),
    blocks: graph.waitingFor(task.id).map((each) => each.id),
    claim: shownClaim(state.claims[task.id], places),
    attempts: state.attempts[task.id] ?? [],
    changedAt: statOf(path)?.mtime.toISOString(),
    path,
    isArchived: dirname(path) === places.archive,
  }
}

/** A claim that was settled here, or in a removed checkout, is not shown. */
function shownClaim(claim: Claim | undefined, here: Places): Claim | undefined {
  if (claim === undefined) return undefined
  const there = checkoutOf(claim, here)
  const isElsewhere = there !== undefined && there !== here
  return isElsewhere || claim.settled === undefined ? withCurrentRoot(claim, there) : undefined
}

/** Avoids listing the folder a second time. */
function findScanned(places: Places, tasks: readonly Task[], word: string): TaskText | undefined {
  const id = renderId(resolveId(places, word))
  const task = tasks.find((each) => each.id === id)
  if (task === undefined) return undefined
  return readTaskOrThrow(places.tasks, task.file)
}

function notesOf(places: Places, graph: Graph, id: string): string {
  try {
    const task = graph.find(id)
    const text =
      task === undefined ? findTask(places, id).text : readTaskText(join(places.tasks, task.file))
    return readNotes(text)
  } catch {
    return ''
  }
}

export interface Commit {
  readonly commit: string
  readonly at: string
  readonly author: string
  readonly subject: string
}

/** The commits that changed a task file, newest first; empty if git does not track it. */
export function readHistory({ root }: Places, path: string): Commit[] {
  const format = '--format=%h%x00%aI%x00%an%x00%s'
  const log = runGit(root, ['log', '--follow', '-n', '50', format, '--', relative(root, path)])
  return (log ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [commit = '', at = '', author = '', subject = ''] = line.split('\0')
      return { commit, at, author, subject }
    })
}
