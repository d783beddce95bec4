import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IntegrationTree } from '../../src/run/merge/integrate.ts'
import { tipOf, type GitIn } from '../../src/run/merge/move-branch.ts'
import { runGit } from '../../src/run/process/git.ts'
import { gitDirOf } from '../../src/run/worktrees/worktree-plan.ts'
import { makeProject } from './project.ts'

const ENV = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'ann',
  GIT_AUTHOR_EMAIL: 'ann@example.com',
  GIT_COMMITTER_NAME: 'ann',
  GIT_COMMITTER_EMAIL: 'ann@example.com',
}
export const gitIn: GitIn = async (cwd, ...args) =>
  (await runGit(cwd, args, ENV, { ms: 60_000 })).toString()

/** A git repository with a branch main, and work for it on other branches. */
export class Repository {
  readonly top = makeProject({ 'a.txt': 'a\n', 'b.txt': 'b\n' })

  static async make(): Promise<Repository> {
    const repository = new Repository()
    await repository.git('init', '--quiet', '-b', 'main')
    await repository.commit('first')
    return repository
  }

  git(...args: string[]): Promise<string> {
    return gitIn(this.top, ...args)
  }

  /** Writes a file and commits all; returns the commit. */
  async commit(subject: string, files: Readonly<Record<string, string>> = {}, folder = this.top) {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
    await gitIn(folder, 'add', '-A')
    await gitIn(folder, 'commit', '--quiet', '--allow-empty', '-m', subject)
    return (await gitIn(folder, 'rev-parse', 'HEAD')).trim()
  }

  async worktree(name: string, ...options: string[]): Promise<string> {
    const path = join(makeProject(), name)
    await this.git('worktree', 'add', '--quiet', ...options, path, 'main')
    return path
  }

  async integrationTree(): Promise<IntegrationTree> {
    const path = await this.worktree('merge', '--detach')
    return { path, gitDir: gitDirOf(path), git: (...args) => gitIn(path, ...args) }
  }

  async tip(branch = 'main'): Promise<string> {
    return (await tipOf(this.top, branch, gitIn)) ?? 'none'
  }

  /** A branch of two commits from the current tip of main. */
  async branch(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const path = await this.worktree(name, '-b', name)
    await this.commit(`${name} 1`, files, path)
    return this.commit(`${name} 2`, { [`${name}.txt`]: name }, path)
  }
}
