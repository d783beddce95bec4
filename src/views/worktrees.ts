import { relative } from 'node:path'
import { counted } from '../base/amounts.ts'
import { printable } from '../base/terminal/printable.ts'
import type { RecordedRun } from './runs.ts'
import { renderTable } from './table.ts'
import { cut } from './terminal/columns.ts'

/**
 * The purpose of a run's worktree or branch. `branch`: an agent worked in it; `task`: a sub-agent did;
 * `merges`: merges were prepared in it; `aside`: merged work that could not go to its target; `unknown`: a
 * folder that git does not know.
 */
export type LeftKind = 'branch' | 'task' | 'merges' | 'aside' | 'unknown'

/** A worktree or branch that a run created. */
export interface LeftWork {
  readonly kind: LeftKind
  /** Display name: `build#2`, or the name of a task. */
  readonly name: string
  readonly run: string
  /** Undefined if the run's record is not here, or was not created here. */
  readonly runStatus: RecordedRun['status'] | undefined
  readonly isAlive: boolean
  /** Undefined if there is no worktree. */
  readonly path: string | undefined
  /** Undefined if no branch belongs to it. */
  readonly branch: string | undefined
  /** The branch that it is merged into, if known. */
  readonly into: string | undefined
  /** How many of its commits are merged neither directly nor as copies; undefined if git cannot tell. */
  readonly unmerged: number | undefined
  readonly hasUncommitted: boolean | undefined
  /** Why it still exists. */
  readonly why: string
  /** Why `--clean` does not remove it; undefined if nothing would be lost. */
  readonly blocker: string | undefined
  /** The commands that come next. */
  readonly next: readonly string[]
}

const WIDEST = 80
const WIDEST_NAME = 20

/** What is left of each run, and the commands that come next; `here` is the reader's folder. */
export function renderLeftWork(left: readonly LeftWork[], here: string): string[] {
  const runs = [...Map.groupBy(left, ({ run }) => run)]
  const next = [...new Set(left.flatMap(({ next: commands }) => commands))]
  return [
    ...runs.flatMap(([run, works]) => [
      cutLine(
        `Run ${run}: ${works[0]!.isAlive ? 'active' : (works[0]!.runStatus ?? 'no record here')}`,
      ),
      ...renderTable(works.map(cellsOf)).map((line) => cutLine(`  ${line}`)),
      ...works.map((work) => `  ${describePlace(work, here)}`),
    ]),
    // Commands are not cut, so that they can be copied.
    ...next.map((command, index) => printable(`${index === 0 ? 'Next:' : '     '} ${command}`)),
  ]
}

function cellsOf({ name, unmerged, hasUncommitted, why }: LeftWork): string[] {
  const commits =
    unmerged === undefined ? '?' : unmerged === 0 ? 'no commits' : counted(unmerged, 'commit')
  const changes = { true: 'uncommitted changes', false: '' }[String(hasUncommitted)] ?? '?'
  return [cut(name, WIDEST_NAME), commits, changes, why]
}

/** Cuts a path at its beginning, because the end says most. */
function describePlace({ path, branch }: LeftWork, here: string): string {
  if (path === undefined) return cut(printable(`branch ${branch}`), WIDEST - 2)
  const shown = printable(relative(here, path) || '.')
  let from = 0
  while (Bun.stringWidth(shown.slice(from)) > WIDEST - 3) from += 1
  return from === 0 ? shown : `…${shown.slice(from)}`
}

function cutLine(line: string): string {
  return cut(printable(line), WIDEST)
}
