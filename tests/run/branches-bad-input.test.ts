import { afterEach, expect, test } from 'bun:test'
import { brokenPromises } from '../support/branch-soak.ts'
import {
  branchesOf,
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
} from '../support/branches.ts'
import type { Ran } from '../support/chains.ts'
import { survivors } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { git, removeWorktrees } from '../support/repository.ts'

afterEach(removeWorktrees)

/** Commits a file in each of two iterations. */
const WORK = [
  'name=$(echo "$FORKHESTRA_SCOPE" | tr / -)',
  'echo "$name" > "file-$name"; git add "file-$name"; git commit -qm "work $FORKHESTRA_SCOPE"',
  '[ "$FORKHESTRA_ITERATION" -ge 2 ] && echo ORCHESTRA_COMPLETE',
  'exit 0',
]

const ALL = [1, 2].flatMap((copy) => [1, 2].map((iteration) => `file-s1-c${copy}-i${iteration}`))
const PROJECT = 'project="$FORKHESTRA_RECORD/../../../.."'
const COMMIT = 'echo x > own; git add own; git commit -qm own'

/** Two copies, of which the first does something strange in its first iteration. */
async function spoil(...strange: string[]): Promise<Ran & { cwd: string }> {
  const lines = ['if [ $FORKHESTRA_SCOPE = s1/c1/i1 ]; then', PROJECT, ...strange, 'fi']
  const agent = sh(WORK[0]!, WORK[1]!, ...lines, ...WORK.slice(2))
  const step = { agent: './agent', name: 'a', iterations: 3, copies: 2, prompt: 'Work.' }
  const cwd = makeBranchProject([step], { agent, shared: 'begin\n' })
  return { cwd, ...(await runBranches(cwd)) }
}

function filesOf(cwd: string, branch = 'main'): string[] {
  return git(cwd, 'ls-tree', '--name-only', branch).split('\n')
}

// Each merges everything, and leaves nothing but what is named.
test.each<[what: string, script: string, left: string[], line: string]>([
  [
    'works on another branch',
    `git checkout -qb other; ${COMMIT}`,
    ['other'],
    'the agent worked on branch other; its commits are on forkhestra/',
  ],
  ['visits another branch', `git checkout -qb other; ${COMMIT}; git checkout -q -`, ['other'], ''],
  ['moves the target branch', `${COMMIT}; git update-ref refs/heads/main HEAD`, [], ''],
  [
    'checks out the target branch',
    `git checkout -q --ignore-other-worktrees main; ${COMMIT}`,
    [],
    'its commits there stay on main',
  ],
  ['amends', 'git commit -q --amend -m amended', [], ''],
  ['resets', `${COMMIT}; git reset -q --hard HEAD~1`, [], ''],
  [
    'makes an orphan branch',
    'git checkout -q --orphan fresh; git commit -qm orphan',
    ['fresh'],
    'its commits there stay on fresh',
  ],
  [
    'makes its branch an orphan',
    'b=$(git symbolic-ref --short HEAD); git checkout -q --orphan fresh; git commit -qm orphan; git branch -M fresh "$b"',
    [],
    '',
  ],
  [
    'collects garbage',
    `${COMMIT}; git commit -q --amend -m b; git reflog expire --expire=now --all; git gc -q --prune=now`,
    [],
    '',
  ],
  [
    'deletes .git of its worktree',
    'rm .git',
    [],
    'the agent deleted or changed .git in its worktree; it was restored',
  ],
  [
    'points its worktree at the project',
    'echo "gitdir: $(git rev-parse --git-common-dir)" > .git',
    [],
    'the agent deleted or changed .git in its worktree; it was restored',
  ],
  [
    'removes the worktree in which merges are prepared',
    'until git ls-tree --name-only main | grep -q s1-c2-i2; do sleep 0.02; done; rm -rf ../*.merge; git worktree prune',
    [],
    '',
  ],
  ['makes its commits look merged', `${COMMIT}; git replace --graft main HEAD`, [], ''],
  ['leaves a locked index', 'touch "$(git rev-parse --git-dir)/index.lock"', [], ''],
  ['deletes its branch', 'git update-ref -d "$(git symbolic-ref HEAD)"', [], ''],
  [
    'makes files with strange names',
    `touch -- "$(printf 'a\\nb')" -x ':(glob)**' "$(printf '\\377')" "$(printf '\\342\\200\\256.txt')"; git add -A; git commit -qm strange`,
    [],
    '',
  ],
  [
    'makes links that lead out',
    'ln -s / root; ln -s ../.. up; ln -sf /etc/passwd shared; git add -A; git commit -qm links',
    [],
    '',
  ],
  [
    'changes how git works',
    'git config core.autocrlf true; git config core.fileMode false; git config status.showUntrackedFiles no; git config core.quotePath true',
    [],
    '',
  ],
  [
    'sets a hook that fails',
    'mkdir h; printf "#!/bin/sh\\nexit 1\\n" > h/pre-commit; chmod +x h/pre-commit; git config core.hooksPath "$PWD/h"',
    [],
    '',
  ],
  [
    'switches the branch of the project',
    'git -C "$project" checkout -qb elsewhere',
    ['elsewhere'],
    '',
  ],
  ['rewrites the target branch', 'git -C "$project" commit -q --amend -m rewritten', [], ''],
  ['leaves a process', 'sleep 100 &', [], 'ended leftover processes of a branch: sleep 100'],
  [
    'leaves a process without its environment',
    'env -i setsid sleep 100 > /dev/null 2>&1 &',
    [],
    'ended leftover processes of a branch: sleep 100',
  ],
])('nothing is lost if an agent %s', async (_, script, left, line) => {
  const { cwd, code, stderr } = await spoil(script)
  expect(code).toBe(0)
  expect(stderr).toContain(line)
  expect(await brokenPromises(cwd)).toEqual([])
  expect(filesOf(cwd)).toEqual(expect.arrayContaining(ALL))
  expect(leftovers(cwd)).toEqual(left)
  expect(survivors()).toEqual([])
})

// Each leaves something that only a person can finish: the run fails, or says what it has kept.
test.each<[what: string, script: string, code: number, line: string]>([
  [
    'a merge with conflicts',
    'b=$(git symbolic-ref --short HEAD); echo a > shared; git commit -qam a; git checkout -qb side HEAD~1; echo b > shared; git commit -qam b; git checkout -q "$b"; git merge side',
    1,
    'error: a merge is still in progress in its worktree',
  ],
  [
    'a rebase with conflicts',
    'echo a > shared; git commit -qam a; git checkout -qb side HEAD~1; echo b > shared; git commit -qam b; git checkout -q -; git rebase -q side 2> /dev/null',
    1,
    'error: a rebase is still in progress in its worktree',
  ],
  [
    'a rebase with commits of its own',
    `${COMMIT}; GIT_SEQUENCE_EDITOR="sed -i s/^pick/edit/" git rebase -q -i HEAD~1 2> /dev/null; echo y > more; git add more; git commit -qm more`,
    1,
    'kept (commits on no branch and a rebase in progress)',
  ],
  [
    'a repository in a commit',
    'git init -q n; cd n; echo x > f; git add f; git -c user.name=n -c user.email=n commit -qm n; cd ..; git add -A 2> /dev/null; git commit -qm n',
    0,
    'kept (a nested repository with work that no remote has: n)',
  ],
  [
    'a repository',
    'git init -q n; cd n; echo x > f; git add f; git -c user.name=n -c user.email=n commit -qm n; cd ..',
    0,
    'kept (uncommitted changes)',
  ],
  ['an empty repository', 'git init -q n; echo x > n/f', 0, 'kept (uncommitted changes)'],
  [
    'changes that git does not look at',
    'git update-index --assume-unchanged shared; echo hidden > shared',
    0,
    'kept (uncommitted changes)',
  ],
])('%s that an agent leaves in its worktree is kept', async (_, script, code, line) => {
  const ran = await spoil(script)
  expect(ran.stderr + ran.stdout).toContain(line)
  expect(ran.code).toBe(code)
  expect(await brokenPromises(ran.cwd)).toEqual([])
  expect(filesOf(ran.cwd)).toEqual(expect.arrayContaining(ALL.slice(2)))
  const before = git(ran.cwd, 'worktree', 'list')
  expect((await inProject(ran.cwd, 'worktrees', '--clean')).code).toBe(1)
  expect(git(ran.cwd, 'worktree', 'list')).toBe(before)
})

test.each([
  ['deletes .git of the project', 'rm -rf "$project/.git"', 'fatal: not a git repository'],
  [
    'breaks the configuration of git',
    'echo "[core" >> "$project/.git/config"',
    'fatal: bad config line',
  ],
])('an agent that %s fails the run, and worktrees stay', async (_, script, line) => {
  const { cwd, code, stderr, run } = await spoil(script)
  expect(code).toBe(1)
  expect(stderr).toContain(line)
  // The other copy may have been merged before.
  expect(await Bun.file(`${cwd}.worktrees/${run}-s1.c1/file-s1-c1-i1`).exists()).toBe(true)
})

test('an agent that deletes its worktree fails its step, and what it committed is merged', async () => {
  const { cwd, code, stderr } = await spoil('rm -rf "$PWD"')
  expect(code).toBe(1)
  expect(stderr).toContain('its worktree was deleted')
  expect(filesOf(cwd)).toContain('file-s1-c1-i1')
  expect(leftovers(cwd)).toEqual([])
  expect((await inProject(cwd, 'resume')).code).toBe(0)
  expect(filesOf(cwd)).toEqual(expect.arrayContaining(ALL.slice(2)))
  expect(leftovers(cwd)).toEqual([])
})

test.each([
  ['core.bare', 'true'],
  ['core.worktree', '/nowhere'],
])(
  'an agent that sets %s leaves the target branch and the files of the project alone',
  async (name, value) => {
    const { cwd, code, stderr, run } = await spoil(`git config ${name} ${value}`)
    expect(code).toBe(0)
    const aside = `forkhestra/${run}/merged`
    expect(stderr).toContain(
      `Merged work is on ${aside}, not yet on main: git no longer treats ${cwd} as a working tree`,
    )
    git(cwd, 'config', '--unset', name)
    expect(git(cwd, 'status', '--porcelain')).toBe('')
    git(cwd, 'merge', '-q', '--ff-only', aside)
    expect(filesOf(cwd)).toEqual(expect.arrayContaining(ALL))
    expect((await inProject(cwd, 'worktrees', '--clean')).code).toBe(0)
    expect(branchesOf(cwd)).toEqual(['main'])
  },
)

test('a branch that an agent deletes is restored with its last known commit', async () => {
  const agent = sh(
    '[ $FORKHESTRA_SCOPE = s1/c1/i2 ] && git update-ref -d "$(git symbolic-ref HEAD)"',
    'case $FORKHESTRA_SCOPE in s1/c1/*) [ "$FORKHESTRA_ITERATION" = 2 ] && echo ORCHESTRA_COMPLETE && exit;; esac',
    ...WORK,
  )
  const step = { agent: './agent', name: 'a', iterations: 3, copies: 2, prompt: 'Work.' }
  const cwd = makeBranchProject([step], { agent })
  const { code, stderr } = await runBranches(cwd)
  expect([code, stderr]).toEqual([0, expect.stringContaining('was deleted; it was restored')])
  expect(await brokenPromises(cwd)).toEqual([])
  expect(filesOf(cwd)).toEqual(
    expect.arrayContaining(ALL.filter((name) => !name.endsWith('c1-i2'))),
  )
  expect(leftovers(cwd)).toEqual([])
})

test('if an agent deletes the target branch, merges go to another one', async () => {
  const { cwd, code, stderr, run } = await spoil('git update-ref -d refs/heads/main')
  const aside = `forkhestra/${run}/merged`
  expect(code).toBe(0)
  expect(stderr).toContain(`Merged work is on ${aside}, not yet on main: branch main was deleted`)
  git(cwd, 'merge', '-q', '--ff-only', aside)
  expect(filesOf(cwd)).toEqual(expect.arrayContaining(ALL))
})

test('an agent that deletes the target branch does not keep later branches from starting', async () => {
  const agent = sh('git update-ref -d refs/heads/main 2> /dev/null', ...WORK)
  const step = { agent: './agent', iterations: 3, copies: 2, prompt: 'Work.' }
  const cwd = makeBranchProject([step, step], { agent })
  const { code, run } = await runBranches(cwd)
  expect(code).toBe(0)
  expect(
    filesOf(cwd, `forkhestra/${run}/merged`).filter((name) => name.startsWith('file-')),
  ).toHaveLength(8)
})

test('the commits of an iteration survive an agent that rewrites history and collects the garbage', async () => {
  const destroy =
    'git commit -q --amend -m rewritten; git reflog expire --expire=now --all; git gc -q --prune=now'
  const agent = sh(`[ $FORKHESTRA_SCOPE = s1/c1/i2 ] && { ${destroy}; }`, ...WORK)
  const step = { agent: './agent', name: 'a', iterations: 3, copies: 2, prompt: 'Work.' }
  const cwd = makeBranchProject([step], { agent, shared: 'begin\n' })
  const { code, stderr } = await runBranches(cwd)
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('was rewritten; the earlier commits are on '),
  ])
  expect(await brokenPromises(cwd)).toEqual([])
  const [kept] = branchesOf(cwd).filter((name) => name !== 'main')
  expect(git(cwd, 'log', '-1', '--format=%s', kept!)).toBe('work s1/c1/i1')
  expect(git(cwd, 'for-each-ref', 'refs/forkhestra')).toBe('')
})
