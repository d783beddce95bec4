import type { EventOf } from './event.ts'
import { keyOfScope } from './tree.ts'

/** A branch of a run with its own worktree, after the events so far. */
export interface BranchState {
  /** With its rounds: each round of a group has new branches. */
  readonly scope: readonly string[]
  /** Name of the git branch, which identifies it. */
  readonly branch: string
  readonly path: string
  /** The commit it starts from. */
  readonly base: string
  /** The git branch that it is merged into. */
  readonly into: string
  /** Its last commit when an iteration ended. */
  readonly tip?: string | undefined
  /** The last of its commits that was merged, and the commit that contains it. */
  readonly merged?: { readonly tip: string; readonly commit: string } | undefined
  /** How many of its commits were merged, if that is known. */
  readonly commits?: number | undefined
  readonly lastMerge?: EventOf<'merge_ended'> | undefined
  /** Whether it has not ended. */
  readonly isOpen: boolean
  /** Why it still exists after its end. */
  readonly kept?: string | undefined
  /** Whether it then has unmerged commits. */
  readonly hasCommits?: boolean | undefined
}

/** A move of a target branch that has begun, and may have been interrupted. */
export type Moving = Omit<EventOf<'merge_moving'>, 'type' | 'at' | 'run' | 'seq' | 'worker'>

interface WithBranches {
  readonly branches?: readonly BranchState[]
}

/** The latest branch at a place, in any round; undefined if there was none. */
export function branchAt(
  { branches = [] }: WithBranches,
  scope: readonly string[],
): BranchState | undefined {
  const key = keyOfScope(scope)
  return branches.findLast((each) => keyOfScope(each.scope) === key)
}

/** The innermost open branch that a place is in. */
export function branchAround(
  { branches = [] }: WithBranches,
  scope: readonly string[],
): BranchState | undefined {
  return branches
    .filter((each) => each.isOpen && isAround(each, keyOfScope(scope)))
    .toSorted((one, other) => other.scope.length - one.scope.length)[0]
}

/** Whether a step has worked in its own worktree. */
export function isInBranch({ branches = [] }: WithBranches, key: string): boolean {
  return branches.some((each) => isAround(each, key))
}

function isAround({ scope }: BranchState, key: string): boolean {
  // A branch for the whole chain has no scope.
  return scope.length === 0 || `${key}/`.startsWith(`${keyOfScope(scope)}/`)
}

export function changeBranch<State extends WithBranches>(
  state: State,
  name: string,
  fields: Partial<BranchState>,
): State {
  const { branches = [] } = state
  const changed = branches.map((each) => (each.branch === name ? { ...each, ...fields } : each))
  return { ...state, branches: changed }
}
