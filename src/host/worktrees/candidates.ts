import { basename } from 'node:path'
import type { BranchState } from '../../records/events/branch-state.ts'
import type { LeftKind } from '../../views/worktrees.ts'
import { runOfBranch, runOfPath, type Repository, type Tree } from './repository.ts'

/** A worktree, a branch or both, created by a run. */
export interface Candidate {
  readonly kind: LeftKind
  readonly run: string
  readonly tree: Tree | undefined
  readonly path: string | undefined
  readonly branch: string | undefined
  /** What the record of the run says about it. */
  readonly recorded: BranchState | undefined
}

type Recorded = (run: string) => readonly BranchState[]

/** Everything in a repository that runs have created. */
export function findCandidates(repository: Repository, recorded: Recorded): Candidate[] {
  const { trees, branches, strangers } = repository
  const linked = trees.filter(({ isMain }) => !isMain)
  const inTrees = linked.flatMap((tree) => ofTree(tree, branches, recorded) ?? [])
  const taken = new Set(inTrees.map(({ branch }) => branch))
  const alone = [...branches.keys()]
    .filter((branch) => !taken.has(branch))
    .flatMap((branch) => ofBranch(branch, recorded) ?? [])
  const folders = strangers.map((path) => ({
    kind: 'unknown' as const,
    run: runOfPath(path)!,
    tree: undefined,
    path,
    branch: undefined,
    recorded: undefined,
  }))
  return [...inTrees, ...alone, ...folders].toSorted((one, other) =>
    compare(keyOf(one), keyOf(other)),
  )
}

function keyOf({ run, path, branch }: Candidate): string {
  return `${run} ${branch ?? ''} ${path ?? ''}`
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

function ofTree(
  tree: Tree,
  branches: Repository['branches'],
  recorded: Recorded,
): Candidate | undefined {
  const { path } = tree
  const run = runOfPath(path) ?? (tree.branch && runOfBranch(tree.branch)?.run)
  if (!run) return undefined
  if (basename(path) === `${run}.merge`)
    return { kind: 'merges', run, tree, path, branch: undefined, recorded: undefined }
  const state = recorded(run).findLast((each) => each.path === path)
  // An agent may have switched to another branch.
  const rest = basename(path).slice(run.length + 1)
  const names = [
    state?.branch,
    `forkhestra/${run}/${rest}`,
    `forkhestra/${run}-${rest}`,
    tree.branch,
  ]
  const branch = names.find((name) => name !== undefined && branches.has(name))
  const kind = state === undefined && isOfTask(branch) ? 'task' : 'branch'
  return { kind, run, tree, path, branch, recorded: state }
}

function isOfTask(branch: string | undefined): boolean {
  return branch !== undefined && runOfBranch(branch)?.rest.startsWith('-') === true
}

function ofBranch(branch: string, recorded: Recorded): Candidate | undefined {
  const found = runOfBranch(branch)
  if (found === undefined) return undefined
  const { run, rest } = found
  const state = recorded(run).findLast((each) => each.branch === branch)
  const isAside = rest === '/merged' || rest.endsWith('.merged')
  const kind = isAside ? 'aside' : isOfTask(branch) ? 'task' : 'branch'
  return { kind, run, tree: undefined, path: undefined, branch, recorded: state }
}
