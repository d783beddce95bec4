import { readdirSync, rmSync } from 'node:fs'
import { makeQueueProject } from './queue.ts'
import { makeProject, type Files } from './project.ts'

const made: string[] = []

/** Called after each test: worktrees are next to their project. */
export function removeWorktrees(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
}

export function git(cwd: string, ...args: string[]): string {
  const named = ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args]
  const { stdout, stderr, exitCode } = Bun.spawnSync(['git', ...named], { cwd })
  if (exitCode !== 0) throw new Error(stderr.toString())
  return stdout.toString().trim()
}

/** A repository in which every prompt is a script. */
export function makeRepository(prompt = '', files: Files = {}): string {
  return commitAll(
    makeQueueProject(prompt, {
      'file.txt': 'before\n',
      '.gitignore': 'forge\nnotes/\n.state\n',
      ...files,
    }),
  )
}

/** A repository with these files in its first commit. */
export function makeCommitted(files: Files): string {
  return commitAll(makeProject(files))
}

function commitAll(cwd: string): string {
  made.push(`${cwd}.worktrees`)
  git(cwd, 'init', '-q', '-b', 'main')
  git(cwd, 'config', 'user.name', 't')
  git(cwd, 'config', 'user.email', 't@example.org')
  git(cwd, 'add', '.')
  git(cwd, 'commit', '-q', '-m', 'begin')
  return cwd
}

/** Names of the worktrees next to a project. */
export function worktreesOf(cwd: string): string[] {
  try {
    return readdirSync(`${cwd}.worktrees`).toSorted()
  } catch {
    return []
  }
}
