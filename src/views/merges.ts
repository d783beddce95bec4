import { relative } from 'node:path'
import { counted } from '../base/amounts.ts'
import { shellWord } from '../base/shell-quote.ts'
import { oneLine, listed } from '../base/shorten.ts'
import { branchName } from '../records/events/branch-name.ts'
import type { BranchState } from '../records/events/branch-state.ts'
import type { EventOf } from '../records/events/event.ts'
import type { AsideWork } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import { cwdOption } from './describe.ts'
import type { NextStep } from './notes.ts'
import { cut } from './terminal/columns.ts'

type MergeEnded = EventOf<'merge_ended'>

/** `3 commits, abc1234`. */
export function describeMerged(commits: number | undefined, commit: string): string {
  const short = commit.slice(0, SHORT)
  return commits === undefined ? short : `${counted(commits, 'commit')}, ${short}`
}

const SHORT = 7

/** Why work was not merged: `conflict in a.ts, b.ts`, `a check failed on top of main: npm test: exit 1`. */
export function describeRefusal(event: MergeEnded, into: string): string {
  const { result, files = [], detail } = event
  if (result === 'gate_failed')
    return `a check failed on top of ${into}: ${inOneLine(detail ?? result)}`
  if (result !== 'conflict') return inOneLine(detail ?? result)
  return `conflict in ${listed(files.map(oneLine), MOST_FILES)}`
}

const MOST_FILES = 3
const MOST_NAMED = 8

/** The branch of a run to which work is merged while its target cannot be moved. */
export function asideBranch({ run }: Pick<MergeEnded, 'run'>): string {
  return `forkhestra/${run}/merged`
}

/** Work that did not reach its target, and the command that gets it there. */
interface LeftWork {
  readonly words: string
  readonly next: NextStep
}

/** Commands and paths relative to the reader's folder. */
export interface Reader {
  /** In the run's folder, unless that is outside of `place`. */
  readonly git: (words: string, place?: string) => string
  /** The path, as short as possible. */
  readonly path: (path: string) => string
}

/** The reader is in the folder `here`, the run in `cwd`. */
export function readerIn(here: string | undefined, cwd: string | undefined): Reader {
  const isElsewhere = cwdOption(cwd, here) !== ''
  const shorten = (path: string): string => {
    const short = relative(cwd!, path)
    return short.length < path.length ? short : path
  }
  return {
    git(words, place) {
      const isThere = place === undefined || `${cwd}/`.startsWith(`${place}/`)
      const folder = isThere ? (isElsewhere ? cwd : undefined) : place
      return `git ${folder === undefined ? '' : `-C ${shellWord(folder)} `}${words}`
    },
    path: (path) => (cwd === undefined || cwd !== here ? path : shorten(path)),
  }
}

/** The work of all branches: what was merged, and what the user has to finish. */
export function describeMerges(
  state: RunState,
  reader: Reader,
): {
  readonly merged: readonly string[]
  readonly left: readonly LeftWork[]
  /** The branches that a resume continues. */
  readonly open?: string
} {
  const { branches = [] } = state
  const names = new Set(branches.map(({ branch }) => branch))
  // Branches inside other branches are merged together with those.
  const outer = branches.filter(({ into }) => !names.has(into))
  const targets = [...Map.groupBy(outer, ({ into }) => into)]
  return {
    merged: targets.flatMap(([into, from]) => mergedLine(into, from)),
    left: [
      ...(state.ended?.aside ?? []).map((work) => workAside(work, branches, reader)),
      ...branches.flatMap((branch) => keptWork(branch, state, reader)),
    ],
    ...openBranches(state),
  }
}

function openBranches(state: RunState): { readonly open?: string } {
  const open = (state.branches ?? []).filter(({ isOpen }) => isOpen)
  if (open.length === 0) return {}
  const names = open.map(({ scope, branch }) => branchName(state, scope) ?? branch)
  return { open: `Worktrees kept for a resume: ${listed(names, MOST_NAMED)}` }
}

/** `Merged into main: 12 commits of 4 branches, now at abc1234`. */
function mergedLine(into: string, branches: readonly BranchState[]): string[] {
  const merged = branches.filter(({ commits = 0 }) => commits > 0)
  const last = lastMerged(merged)
  if (last?.commit === undefined) return []
  const commits = merged.reduce((sum, branch) => sum + (branch.commits ?? 0), 0)
  const from = merged.length === 1 ? '1 branch' : `${merged.length} branches`
  // A branch that could not be moved at first may have been moved later.
  const where = last.aside === undefined ? ` into ${into}` : ''
  return [
    `Merged${where}: ${counted(commits, 'commit')} of ${from}, now at ${last.commit.slice(0, SHORT)}`,
  ]
}

function lastMerged(branches: readonly BranchState[]): MergeEnded | undefined {
  return branches
    .flatMap(({ lastMerge }) => (lastMerge?.result === 'merged' ? [lastMerge] : []))
    .toSorted((one, other) => (one.seq ?? 0) - (other.seq ?? 0))
    .at(-1)
}

function workAside(
  { branch, into, isDiverged = false, isDeleted = false, place }: AsideWork,
  branches: readonly BranchState[],
  reader: Reader,
): LeftWork {
  // Only the first merge that went aside has the reason.
  const [why] = branches.flatMap(({ into: target, lastMerge }) =>
    target === into && lastMerge?.aside ? [lastMerge.aside] : [],
  )
  const options = isDiverged ? '' : '--ff-only --no-overwrite-ignore '
  const merge = `merge ${options}${shellWord(branch)}`
  const command = isDeleted
    ? reader.git(`branch ${shellWord(into)} ${shellWord(branch)}`)
    : place === undefined
      ? `${reader.git(`switch ${shellWord(into)}`)} && ${reader.git(merge)}`
      : reader.git(merge, place)
  return {
    words: `Merged work is on ${branch}, not yet on ${into}${why === undefined ? '' : `: ${inOneLine(why)}`}`,
    next: [command, `bring it to ${into}`],
  }
}

function keptWork(branch: BranchState, state: RunState, reader: Reader): LeftWork[] {
  const { scope, branch: gitBranch, path, into, kept, hasCommits, lastMerge } = branch
  if (kept === undefined) return []
  const name = branchName(state, scope) ?? gitBranch
  const folder = reader.path(path)
  if (hasCommits !== true) {
    const next: NextStep = [
      `git -C ${shellWord(folder)} status`,
      `see what is in the worktree of ${name}`,
    ]
    return [{ words: `Worktree of ${name} kept (${inOneLine(kept)}): ${folder}`, next }]
  }
  const refusal = lastMerge?.result === 'merged' ? undefined : lastMerge
  const why = refusal === undefined ? inOneLine(kept) : describeRefusal(refusal, into)
  const words = `Not merged: ${name} (${why}); its worktree is ${folder}`
  // Merging work that fails the checks would break the target.
  if (refusal?.result === 'gate_failed') {
    const log = reader.git(`log ${shellWord(`${into}..${gitBranch}`)}`)
    return [{ words, next: [log, `see the commits of ${name}`] }]
  }
  const merge = reader.git(`merge ${shellWord(gitBranch)}`)
  return [{ words, next: [merge, `merge ${name} by hand`] }]
}

/** Messages from git have several lines. */
export function inOneLine(text: string): string {
  return cut(
    oneLine(text)
      .replace(/^(?:error|fatal): /, '')
      .replace(/ Aborting$/, '')
      .replace(/ Please (.+) before you merge\.$/, '; $1 first'),
    WIDEST_MESSAGE,
  )
}

const WIDEST_MESSAGE = 200
