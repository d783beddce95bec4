import { existsSync } from 'node:fs'
import { runChain, startChain, type Ran } from './chains.ts'
import { forkhestra, type Finished, type Running } from './forkhestra.ts'
import type { Files } from './project.ts'
import { git, makeCommitted } from './repository.ts'

/** A repository whose configuration has one chain, `c`. */
export function makeBranchProject(
  steps: readonly object[],
  files: Files = {},
  chain: object = { verify: 'true' },
  agents: object = {},
): string {
  const configuration = JSON.stringify({ agents, chains: { c: { ...chain, steps } } })
  return makeCommitted({
    '.gitignore': '.state\n.config\n',
    ...files,
    'forge/orch/chains.json': configuration,
  })
}

export function runBranches(cwd: string, ...args: string[]): Promise<Ran> {
  return runChain(cwd, { args })
}

export function startBranches(cwd: string, ...args: string[]): Running {
  return startChain(cwd, { args })
}

export function inProject(cwd: string, ...args: string[]): Promise<Finished> {
  return forkhestra(args, { cwd })
}

/** All git branches. */
export function branchesOf(cwd: string): string[] {
  return git(cwd, 'for-each-ref', '--format=%(refname:short)', 'refs/heads').split('\n')
}

/** Subjects of the commits of a branch, oldest first. */
export function subjectsOf(cwd: string, branch = 'main'): string[] {
  return git(cwd, 'log', '--reverse', '--format=%s', branch).split('\n')
}

/** Fails if anything of a run is left in the repository. */
export function leftovers(cwd: string): string[] {
  const worktrees = git(cwd, 'worktree', 'list', '--porcelain').split('\n')
  return [
    ...(existsSync(`${cwd}.worktrees`) ? ['the folder of worktrees'] : []),
    ...worktrees.filter((line) => line.startsWith('worktree ')).slice(1),
    ...branchesOf(cwd).filter((name) => name !== 'main'),
    ...git(cwd, 'status', '--porcelain')
      .split('\n')
      .filter((line) => line !== ''),
  ]
}
