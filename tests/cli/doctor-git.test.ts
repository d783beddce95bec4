import { expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { doctor, found, git, makeMachine, type Machine } from '../support/doctor.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'

test.each<[string, string, (machine: Machine) => void, string, string]>([
  [
    'a shared branch',
    'branch',
    (m) => git(m, 'switch', '-qc', 'main'),
    'warning',
    'you are on main',
  ],
  ['no branch', 'branch', (m) => git(m, 'switch', '-q', '--detach'), 'warning', 'detached HEAD'],
  [
    'the default branch of a clone',
    'branch',
    (m) => git(m, 'symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/work'),
    'warning',
    'you are on work',
  ],
  ['a merge', 'branch', (m) => conflict(m, 'merge'), 'problem', 'a merge is in progress'],
  ['a rebase', 'branch', (m) => conflict(m, 'rebase'), 'problem', 'a rebase is in progress'],
  [
    'a pick',
    'branch',
    (m) => conflict(m, 'cherry-pick'),
    'problem',
    'a cherry-pick is in progress',
  ],
  ['a bisection', 'branch', (m) => git(m, 'bisect', 'start'), 'problem', 'a bisect'],
  ['a lock', 'commits', (m) => write(m, '.git/index.lock'), 'problem', '.git/index.lock exists'],
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
    'no commits yet',
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

/** Two branches that changed the same file, and a merge of them that stops at the conflict. */
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

test('worktrees are counted, and missing ones are reported', async () => {
  const machine = makeMachine()
  expect(await found('worktrees', machine)).toBeUndefined()
  const tree = join(makeProject(), 'tree')
  git(machine, 'worktree', 'add', '-q', tree)
  expect(await found('worktrees', machine)).toMatchObject({
    state: 'ok',
    text: '1 worktree besides the main one',
  })
  const inside = await doctor({ ...machine, cwd: tree })
  expect(inside.get('worktrees')?.text).toEndWith('this is one of them')
  expect(inside.get('branch')).toMatchObject({ state: 'ok', text: 'tree' })
  const below = await doctor({ ...machine, cwd: join(machine.cwd, 'forge') })
  expect(below.get('worktrees')?.text).toBe('1 worktree besides the main one')
  rmSync(tree, { recursive: true })
  expect(await found('worktrees', machine)).toMatchObject({
    state: 'warning',
    next: 'Run: git worktree prune',
  })
})

test('a secret or a direction override in a branch name is not printed', async () => {
  const machine = makeMachine()
  const secret = 'ghp_0123456789abcdefABCDEF0123456789abcd'
  git(machine, 'switch', '-qc', `fix-sk-ant-secret-${secret}-\u202egnp`)
  const { text } = (await found('branch', machine))!
  expect(text).toContain('fix-[masked')
  expect(text).not.toContain(secret)
  expect(text).not.toContain('sk-ant-secret')
  expect(text).not.toContain('\u202e')
  const { stdout } = await forkhestra(['doctor'], machine)
  expect(stdout).toContain('fix-[masked')
  expect(stdout).not.toContain(secret)
})

test('a secret of the configuration is not printed', async () => {
  const secret = 'opensesame-opensesame'
  const agents = { a: { systemPromptText: 'x', env: { SERVICE_TOKEN: secret } } }
  const files = { 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) }
  const machine = makeMachine(undefined, files)
  git(machine, 'switch', '-qc', `try-${secret}`)
  expect((await found('branch', machine))?.text).toMatch(/^try-\[masked/)
})
