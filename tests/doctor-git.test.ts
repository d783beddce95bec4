import { expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { doctor, found, git, makeMachine, type Machine } from './support/doctor.ts'
import { makeProject } from './support/project.ts'

test.each<[string, string, (machine: Machine) => void, string, string]>([
  ['a branch of all', 'branch', (m) => git(m, 'switch', '-qc', 'main'), 'warning', 'main:'],
  ['no branch', 'branch', (m) => git(m, 'switch', '-q', '--detach'), 'warning', 'on no branch'],
  [
    'the default branch of a clone',
    'branch',
    (m) => git(m, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/work'),
    'warning',
    'work:',
  ],
  ['a merge', 'branch', (m) => conflict(m, 'merge'), 'problem', 'a merge is under way'],
  ['a rebase', 'branch', (m) => conflict(m, 'rebase'), 'problem', 'a rebase is under way'],
  ['a pick', 'branch', (m) => conflict(m, 'cherry-pick'), 'problem', 'a cherry-pick is under way'],
  ['a bisection', 'branch', (m) => git(m, 'bisect', 'start'), 'problem', 'a bisection'],
  ['a lock', 'commits', (m) => write(m, '.git/index.lock'), 'problem', '.git/index.lock is there'],
  [
    'signatures',
    'commits',
    (m) => git(m, 'config', 'commit.gpgsign', 'yes'),
    'warning',
    'are signed',
  ],
  [
    'no commit at all',
    'git',
    (m) => {
      rmSync(join(m.cwd, '.git'), { recursive: true })
      rmSync(join(m.cwd, 'forge'), { recursive: true })
      git(m, 'init', '--quiet', '--initial-branch=work')
    },
    'warning',
    'without a commit',
  ],
])('git with %s', async (_, name, prepare, state, text) => {
  const machine = makeMachine()
  expect(await found(name, machine)).toMatchObject({ state: 'ok' })
  prepare(machine)
  const check = await found(name, machine)
  expect(check?.state).toBe(state)
  expect(check?.text).toContain(text)
})

function write({ cwd }: Machine, path: string, text = ''): void {
  writeFileSync(join(cwd, path), text)
}

/** Two branches that changed the same file, and a git that stops in the middle of joining them. */
function conflict(machine: Machine, command: string): void {
  const commit = (text: string) => {
    write(machine, 'file', text)
    git(machine, 'add', 'file')
    git(machine, 'commit', '-qm', text)
  }
  git(machine, 'switch', '-qc', 'other')
  commit('other')
  git(machine, 'switch', '-q', 'work')
  commit('work')
  git(machine, command, 'other')
}

test('worktrees are counted, and those that are gone are named', async () => {
  const machine = makeMachine()
  expect(await found('worktrees', machine)).toBeUndefined()
  const tree = join(makeProject(), 'tree')
  git(machine, 'worktree', 'add', '-q', tree)
  expect(await found('worktrees', machine)).toMatchObject({
    state: 'ok',
    text: '1 worktree beside the main one',
  })
  const inside = await doctor({ ...machine, cwd: tree })
  expect(inside.get('worktrees')?.text).toEndWith('this is one of them')
  expect(inside.get('branch')).toMatchObject({ state: 'ok', text: 'tree' })
  const below = await doctor({ ...machine, cwd: join(machine.cwd, 'forge') })
  expect(below.get('worktrees')?.text).toBe('1 worktree beside the main one')
  rmSync(tree, { recursive: true })
  expect(await found('worktrees', machine)).toMatchObject({
    state: 'warning',
    next: 'Run: git worktree prune',
  })
})
