import { join, relative } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { errorText, NotNow, UserError } from '../../base/errors.ts'
import { processesIn } from '../../base/linux/process-table.ts'
import { shellWord } from '../../base/shell-quote.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import { readRuns, type RunBrief } from '../../records/journal/runs.ts'
import { runsAtWork } from '../../records/journal/working-tree.ts'
import { isReady } from '../../run/branches/branch-worktree.ts'
import { unsavedWork } from '../../run/branches/unsaved-work.ts'
import type { GitIn } from '../../run/merge/move-branch.ts'
import { freshIndex, hasUncommitted } from '../../run/worktrees/worktree-state.ts'
import { cwdOption } from '../../views/describe.ts'
import { describeRefusal } from '../../views/merges.ts'
import { orphansOption, resumeCommand } from '../../views/runs.ts'
import type { FrontEnd } from '../front-end.ts'
import { hasOrphans } from '../orphans.ts'
import { findCandidates, type Candidate } from './candidates.ts'
import type { LeftWork } from '../../views/worktrees.ts'
import {
  gitOfTree,
  makeGit,
  readRepository,
  runOfBranch,
  runOfPath,
  withoutFilters,
  type GitWith,
  type Repository,
} from './repository.ts'
import { countUnmerged } from './unmerged.ts'

type Asker = Pick<FrontEnd, 'env' | 'project'>

/** A snapshot of what is known about the repository and its runs. */
export interface Survey {
  readonly repository: Repository
  readonly candidates: readonly Candidate[]
  readonly runs: ReadonlyMap<string, RunBrief>
  readonly active: ReadonlySet<string>
  /** Whether processes of a run that is not active are still running. */
  readonly hasOrphans: (run: string) => boolean
  readonly git: GitWith
  /** The folder of the project. */
  readonly here: string
}

/** Inspects everything that runs have created in the repository and not removed. */
export async function survey({ env, project }: Asker): Promise<Survey> {
  const repository = await open(project.folder, makeGit(env))
  const git = await withoutFilters(env, project.folder, repository)
  const runs = new Map(recordedRuns(repository, { env, project }).map((run) => [run.id, run]))
  const isActive = ({ status }: RunBrief) => status === 'running' || status === 'waiting'
  const active = new Set([
    ...[...runs.values()].filter(isActive).map(({ id }) => id),
    ...repository.trees.flatMap(({ gitDir }) => runsAtWork(gitDir)),
  ])
  const orphans = new Map<string, boolean>()
  const candidates = findCandidates(repository, (run) => runs.get(run)?.state.branches ?? [])
  return {
    repository,
    candidates,
    runs,
    active,
    hasOrphans(run) {
      const known = orphans.get(run) ?? hasOrphans(run)
      orphans.set(run, known)
      return known
    },
    git,
    here: project.folder,
  }
}

async function open(folder: string, git: GitWith): Promise<Repository> {
  try {
    return await readRepository(folder, git.in)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new NotNow(`git cannot read the repository of ${folder}.`, errorText(error))
  }
}

/** Includes the same project in other working trees of the repository. */
function recordedRuns({ top, trees }: Repository, { env, project }: Asker): RunBrief[] {
  const { folder, searched } = project
  const own = recordPlaces({ folder, searched }, env)
  const inside = top === undefined ? '' : relative(top, folder)
  const others = trees
    .filter(({ path, isThere }) => isThere && runOfPath(path) === undefined)
    .map(({ path }) => join(path, inside))
    .flatMap((each) => recordPlaces({ folder: each, searched: [each] }, env).roots)
  return readRuns({ ...own, roots: [...new Set([...own.roots, ...others])] }).runs
}

/** Everything that is left of runs. */
export async function findLeftWork(asker: Asker): Promise<LeftWork[]> {
  const found = await survey(asker)
  const all: LeftWork[] = []
  for (const candidate of found.candidates) all.push(await describe(candidate, found))
  return all
}

export async function describe(candidate: Candidate, found: Survey): Promise<LeftWork> {
  const { kind, run, path, branch } = candidate
  const brief = found.runs.get(run)
  // Records from elsewhere can contain anything.
  const own = brief?.foreign === undefined ? brief : undefined
  const facts = {
    unmerged: await commitsIn(candidate, own, found),
    hasUncommitted: await changesIn(candidate, found.git),
  }
  const isAlive = found.active.has(run)
  const blocker = findBlocker(candidate, facts, found)
  return {
    kind,
    name: nameOf(candidate, own),
    run,
    runStatus: own?.status,
    isAlive,
    path,
    branch,
    into: targetOf(candidate, own),
    ...facts,
    why: describeWhy(candidate, blocker, found),
    blocker,
    next: nextCommands(candidate, { ...facts, blocker }, found),
  }
}

async function commitsIn(
  candidate: Candidate,
  own: RunBrief | undefined,
  { repository, git, here }: Survey,
): Promise<number | undefined> {
  if (candidate.kind === 'unknown') return undefined
  // Commits created for a merge are copies of others.
  if (candidate.kind === 'merges') return 0
  const inHere = (...args: string[]) => git.in(here, ...args)
  return countUnmerged(candidate, repository, own?.folder, inHere).catch(() => undefined)
}

async function changesIn(
  { kind, tree, branch }: Candidate,
  git: GitWith,
): Promise<boolean | undefined> {
  if (kind === 'unknown') return undefined
  if (tree === undefined || !tree.isThere || kind === 'merges') return false
  const { path, gitDir } = tree
  if (gitDir === '') return undefined
  // No agent has worked in it yet.
  if (kind === 'branch' && !isReady(gitDir)) return false
  const location = { path, gitDir, branch: branch ?? '', base: '' }
  const ask = gitOfTree(git.in, location)
  try {
    if (kind === 'task') {
      const fresh: GitIn = (cwd, ...args) => git.with(freshIndex(location), cwd, ...args)
      return await hasUncommitted(location, ask, gitOfTree(fresh, location))
    }
    // Commits on a detached HEAD count.
    return (await unsavedWork({ ...location, git: ask }, async () => true)).length > 0
  } catch {
    return undefined
  }
}

type Facts = Pick<LeftWork, 'unmerged' | 'hasUncommitted'>

function findBlocker(
  { kind, run, tree, path, branch }: Candidate,
  { unmerged, hasUncommitted: hasChanges }: Facts,
  found: Survey,
): string | undefined {
  if (found.active.has(run)) return 'its run is active'
  if (kind === 'unknown') return 'git does not know this folder'
  if (found.hasOrphans(run)) return 'processes of its run are still running'
  const elsewhere = found.repository.trees.find(
    (each) => each.branch === branch && branch !== undefined && each.path !== path,
  )
  if (elsewhere !== undefined) return `it is checked out in ${elsewhere.path}`
  if (path !== undefined && runOfPath(path) === undefined)
    return 'its worktree was moved to another folder'
  if (tree !== undefined && tree.locked !== undefined && isUsed(kind, tree.gitDir))
    return `its worktree is locked${tree.locked === '' ? '' : `: ${tree.locked}`}`
  const [pid] = path === undefined ? [] : processesIn(path)
  if (pid !== undefined) return `a process is running in it (pid ${pid})`
  if (unmerged === undefined || hasChanges === undefined) return 'git cannot read it'
  const losses = [
    ...(unmerged === 0 ? [] : [`${counted(unmerged, 'commit')} not merged`]),
    ...(hasChanges ? ['uncommitted changes'] : []),
  ]
  return losses.length === 0 ? undefined : losses.join(' and ')
}

/** Git locks a worktree while it is made. */
export function isUsed(kind: LeftWork['kind'], gitDir: string): boolean {
  return kind !== 'merges' && (kind !== 'branch' || isReady(gitDir))
}

function nameOf(
  { kind, run, path, branch, recorded }: Candidate,
  own: RunBrief | undefined,
): string {
  if (kind === 'merges') return 'merge queue'
  if (kind === 'unknown') return path!.slice(path!.lastIndexOf('/') + 1)
  if (kind === 'aside') return 'merged work'
  const rest = (branch === undefined ? undefined : runOfBranch(branch)?.rest.slice(1)) ?? ''
  const branches = own?.state.branches ?? []
  // Commits from before a history rewrite are on a separate branch.
  const before = /^(.*)-([0-9a-f]{7})$/.exec(rest)
  const origin = branches.find((each) => each.branch === `forkhestra/${run}/${before?.[1]}`)
  const state = recorded ?? origin
  const name = state === undefined ? undefined : branchName(own!.state, state.scope)
  if (name === undefined) return rest || 'no branch'
  return recorded === undefined ? `${name} (${before![2]})` : name
}

function describeWhy(
  { kind, run, tree, recorded }: Candidate,
  blocker: string | undefined,
  found: Survey,
): string {
  if (kind === 'unknown' || found.active.has(run)) return blocker!
  if (kind === 'merges') return 'its run was killed'
  if (kind === 'aside') return 'its target branch could not be moved'
  const { lastMerge, kept, isOpen, into = 'its target' } = recorded ?? {}
  if (lastMerge !== undefined && lastMerge.result !== 'merged')
    return describeRefusal(lastMerge, into)
  if (tree?.isThere === false) return 'its folder was deleted'
  if (kept !== undefined) return kept
  if (isOpen === true) return 'its step is not complete'
  return blocker ?? 'everything in it is merged'
}

function nextCommands(
  candidate: Candidate,
  { unmerged, hasUncommitted: hasChanges, blocker }: Facts & Pick<LeftWork, 'blocker'>,
  { runs, active, repository, here, hasOrphans: areLeft }: Survey,
): string[] {
  const { kind, run, path, tree, branch, recorded } = candidate
  const brief = runs.get(run)
  const id = `${run}${cwdOption(brief?.state.cwd, here)}`
  if (active.has(run)) return brief === undefined ? [] : [`forkhestra show ${id}`]
  if (kind === 'unknown') return [`ls -A ${shellWord(path!)}`]
  const isResumable =
    brief?.foreign === undefined && ['stopped', 'failed', 'dead'].includes(brief?.status ?? '')
  const isContinued =
    kind === 'merges' ||
    recorded?.isOpen === true ||
    (recorded?.lastMerge !== undefined && recorded.lastMerge.result !== 'merged')
  const orphans = orphansOption({ hasOrphans: areLeft(run) })
  const isMergeable = branch !== undefined && (unmerged ?? 0) > 0
  return [
    ...(isResumable && isContinued ? [`${resumeCommand(id)}${orphans}`] : []),
    ...(isMergeable ? [mergeCommand(kind, branch, targetOf(candidate, brief), repository)] : []),
    ...(hasChanges === true && tree?.isThere === true
      ? [`git -C ${shellWord(tree.path)} status`]
      : []),
    ...(blocker === undefined ? ['forkhestra worktrees --clean'] : []),
  ]
}

/** The branch that work is merged into, or that its merged work was meant for. */
function targetOf(
  { kind, run, branch, recorded }: Candidate,
  brief: RunBrief | undefined,
): string | undefined {
  if (kind !== 'aside') return recorded?.into
  const own = `forkhestra/${run}/`
  const targets = (brief?.state.branches ?? []).map(({ into }) => into)
  return targets.find((into) => branch === `${into.startsWith(own) ? `${into}.` : own}merged`)
}

/** Merges where the target is checked out. */
function mergeCommand(
  kind: LeftWork['kind'],
  branch: string,
  into: string | undefined,
  { top, trees, branches }: Repository,
): string {
  if (kind === 'aside' && into !== undefined && !branches.has(into))
    return `git branch ${shellWord(into)} ${shellWord(branch)}`
  // An ignored file may be why it is aside.
  const options = kind === 'aside' ? '--no-overwrite-ignore ' : ''
  const merge = `merge ${options}${shellWord(branch)}`
  const place = trees.find((tree) => into !== undefined && tree.branch === into)?.path
  if (into === undefined || place === top) return `git ${merge}`
  if (place !== undefined) return `git -C ${shellWord(place)} ${merge}`
  return `git switch ${shellWord(into)} && git ${merge}`
}
