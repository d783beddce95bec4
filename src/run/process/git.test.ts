import { expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { git, makeCommitted } from '../../../tests/support/repository.ts'
import { runGit } from './git.ts'

test('git waits for a worktree that another process is making', async () => {
  const cwd = makeCommitted({ file: '' })
  const half = join(cwd, '.git/worktrees/half')
  mkdirSync(half, { recursive: true })
  // As git does it: the last file is empty for a moment.
  writeFileSync(join(half, 'gitdir'), join(cwd, '../half/.git\n'))
  writeFileSync(join(half, 'HEAD'), `${git(cwd, 'rev-parse', 'HEAD')}\n`)
  writeFileSync(join(half, 'commondir'), '')
  const env = { PATH: process.env['PATH']! }
  const listed = runGit(cwd, ['worktree', 'list'], env, { ms: 60_000 })
  expect(() => git(cwd, 'worktree', 'list')).toThrow('commondir')
  writeFileSync(join(half, 'commondir'), '../..\n')
  expect((await listed).toString()).toContain('half')
  rmSync(half, { recursive: true })
})
