import { afterEach, expect, test } from 'bun:test'
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brokenPromises } from '../support/branch-soak.ts'
import {
  branchesOf,
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
  startBranches,
  subjectsOf,
} from '../support/branches.ts'
import { withRecord } from '../support/chains.ts'
import { environment, FORKHESTRA, forkhestra, survivors } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import { runsOf } from '../support/record.ts'
import { git, makeCommitted, removeWorktrees, worktreesOf } from '../support/repository.ts'

afterEach(removeWorktrees)

const WORK = [
  'name=$(echo "$FORKHESTRA_STEP-$FORKHESTRA_SCOPE" | tr / -)',
  'echo "$name" > "file-$name"; git add -A && git commit -qm "work $FORKHESTRA_SCOPE"',
  'echo ORCHESTRA_COMPLETE',
]
const AGENT = sh(...WORK)
const STEP = { agent: './agent', name: 'a', iterations: 2, copies: 2, prompt: 'Work.' }
const COMMITTED = ['work s1/c1/i1', 'work s1/c2/i1']
const PARALLEL = { FORKHESTRA_PARALLEL: '1' }

function commitsOf(cwd: string, branch = 'main'): string[] {
  return subjectsOf(cwd, branch)
    .filter((subject) => subject.startsWith('work '))
    .toSorted()
}

/** Runs the chain in a repository that was changed after its first commit. */
async function runIn(cwd: string, env: Record<string, string> = {}) {
  return withRecord(await forkhestra(['--chain', 'c'], { cwd, env: { ...PARALLEL, ...env } }), cwd)
}

test('a shallow clone', async () => {
  const origin = makeBranchProject([STEP], { agent: AGENT })
  git(origin, 'commit', '-q', '--allow-empty', '-m', 'second')
  const folder = makeProject()
  const cwd = join(folder, 'clone')
  git(folder, 'clone', '-q', '--depth', '1', `file://${origin}`, 'clone')
  git(cwd, 'config', 'user.name', 't')
  git(cwd, 'config', 'user.email', 't')
  expect((await runIn(cwd)).code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  expect(leftovers(cwd)).toEqual([])
})

test('submodules that setup checks out', async () => {
  const library = makeCommitted({ 'lib.txt': 'x' })
  const allow = ['-c', 'protocol.file.allow=always']
  const agent = sh('cat sub/lib.txt > /dev/null || exit 1', ...WORK)
  const setup = `git ${allow.join(' ')} submodule --quiet update --init`
  const cwd = makeBranchProject([{ ...STEP, setup }], { agent })
  git(cwd, ...allow, 'submodule', '--quiet', 'add', library, 'sub')
  git(cwd, 'commit', '-qm', 'submodule')
  // Git would look for the submodule in worktrees that do not have it.
  git(cwd, 'config', 'submodule.recurse', 'true')
  expect((await runIn(cwd)).code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  expect(leftovers(cwd)).toEqual([])
})

test('a commit in a submodule keeps the worktree', async () => {
  const library = makeCommitted({ 'lib.txt': 'x' })
  const allow = ['-c', 'protocol.file.allow=always']
  const agent = sh(
    'cd sub; git -c user.name=n -c user.email=n commit -q --allow-empty -m inside; cd ..',
    ...WORK,
  )
  const setup = `git ${allow.join(' ')} submodule --quiet update --init`
  const cwd = makeBranchProject([{ ...STEP, setup }], { agent })
  git(cwd, ...allow, 'submodule', '--quiet', 'add', library, 'sub')
  git(cwd, 'commit', '-qm', 'submodule')
  const { stderr } = await runIn(cwd)
  expect(stderr).toContain('a nested repository with work that no remote has: sub')
  expect(worktreesOf(cwd).length).toBeGreaterThan(0)
  expect((await inProject(cwd, 'worktrees', '--clean')).code).toBe(1)
  expect(worktreesOf(cwd).length).toBeGreaterThan(0)
})

test('pointers of git-lfs, which is not installed', async () => {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 9\n`
  const cwd = makeBranchProject([STEP], {
    agent: AGENT,
    'big.bin': pointer,
    '.gitattributes': '*.bin filter=lfs diff=lfs merge=lfs -text\n',
  })
  expect((await runIn(cwd)).code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  expect(leftovers(cwd)).toEqual([])
})

test('a required filter that is not installed ends the steps with one line', async () => {
  const cwd = makeBranchProject([STEP], {
    agent: AGENT,
    'big.bin': 'pointer\n',
    '.gitattributes': '*.bin filter=lfs\n',
  })
  git(cwd, 'config', 'filter.lfs.clean', 'cat')
  git(cwd, 'config', 'filter.lfs.smudge', 'git-lfs-missing smudge -- %f')
  git(cwd, 'config', 'filter.lfs.required', 'true')
  const { code, stdout, stderr } = await runIn(cwd)
  expect(code).toBe(1)
  expect(stdout).toMatch(/Failed at step 1: .*smudge filter lfs failed/)
  expect(stderr).not.toContain('internal error')
  expect(worktreesOf(cwd)).toEqual([])
})

test('hooks that fail or hang run for agents only', async () => {
  const cwd = makeBranchProject([STEP], { agent: AGENT })
  for (const hook of ['post-checkout', 'post-merge', 'reference-transaction', 'post-commit'])
    writeFiles(cwd, { [`.git/hooks/${hook}`]: sh('sleep 300') })
  writeFiles(cwd, { '.git/hooks/pre-commit': sh('echo hook; exit 1') })
  rmSync(join(cwd, '.git/hooks/reference-transaction'))
  const { code, stderr } = await runIn(cwd)
  expect(code).toBe(0)
  expect(stderr).toContain('a#1 │ hook')
  expect(subjectsOf(cwd).toSorted()).toEqual([
    'Uncommitted work of a#1',
    'Uncommitted work of a#2',
    'begin',
  ])
  expect(leftovers(cwd)).toEqual([])
})

test('a project in a subfolder, with spaces and other letters in its path, and another language', async () => {
  const top = join(makeProject(), 'mein "Projekt" $HOME ü 日本')
  mkdirSync(join(top, 'a b/ü'), { recursive: true })
  const cwd = join(top, 'a b/ü')
  const chains = JSON.stringify({ chains: { c: { steps: [STEP], verify: 'test -e agent' } } })
  writeFiles(cwd, {
    agent: AGENT,
    'forge/orch/chains.json': chains,
    '.gitignore': '.state\n.config\n',
  })
  git(top, 'init', '-q', '-b', 'haupt/zweig')
  git(top, 'config', 'user.name', 't')
  git(top, 'config', 'user.email', 't')
  git(top, 'add', '.')
  git(top, 'commit', '-qm', 'begin')
  const { code } = await runIn(cwd, { LANG: 'de_DE.UTF-8', LANGUAGE: 'de', LC_ALL: 'de_DE.UTF-8' })
  expect(code).toBe(0)
  expect(commitsOf(top, 'haupt/zweig')).toEqual(COMMITTED)
  expect(git(top, '-c', 'core.quotePath=false', 'ls-files')).toContain('a b/ü/file-1-s1-c1-i1')
  expect(git(top, 'worktree', 'list').split('\n')).toHaveLength(1)
  expect(readdirSync(join(top, '..'))).toEqual(['mein "Projekt" $HOME ü 日本'])
})

test('a project that is itself a linked worktree', async () => {
  const main = makeBranchProject([STEP], { agent: AGENT })
  const cwd = join(makeProject(), 'linked')
  git(main, 'worktree', 'add', '-q', cwd, '-b', 'side')
  expect((await runIn(cwd)).code).toBe(0)
  expect(commitsOf(main, 'side')).toEqual(COMMITTED)
  expect(commitsOf(main)).toEqual([])
  expect(git(cwd, 'status', '--porcelain')).toBe('')
  expect(git(main, 'worktree', 'list').split('\n')).toHaveLength(2)
})

test('a git that is too old or missing', async () => {
  const cwd = makeBranchProject([STEP], { agent: AGENT })
  const old = makeProject({
    git: sh(
      'for each; do [ "$each" = version ] && echo "git version 2.25.1" && exit; done',
      `exec ${Bun.which('git')} "$@"`,
    ),
  })
  const PATH = `${cwd}:${old}:${process.env['PATH']}`
  const refused = await runIn(cwd, { PATH })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('Worktrees need git 2.36 or newer; this is git 2.25.1.')
  const bin = makeProject()
  const missing = await runIn(cwd, { PATH: `${cwd}:${bin}` })
  expect(missing.code).toBe(2)
  expect(missing.stderr).toContain('Worktrees need git, which is not on PATH.')
})

test('names of branches and folders that exist', async () => {
  const agent = sh(
    'git branch "forkhestra/$FORKHESTRA_RUN_ID/s2.c1" 2> /dev/null',
    'mkdir -p "../$FORKHESTRA_RUN_ID-s2.c2" && echo mine > "../$FORKHESTRA_RUN_ID-s2.c2/notes"',
    ...WORK,
  )
  const cwd = makeBranchProject([STEP, { ...STEP, name: 'b' }], { agent })
  const { code, run } = await runIn(cwd)
  expect(code).toBe(0)
  expect(commitsOf(cwd)).toHaveLength(4)
  expect(branchesOf(cwd)).toEqual([`forkhestra/${run}/s2.c1`, 'main'])
  expect(readdirSync(join(`${cwd}.worktrees`, `${run}-s2.c2`))).toEqual(['notes'])
})

test('a worktree of a person on a disk that is not mounted', async () => {
  const cwd = makeBranchProject([STEP], { agent: AGENT })
  const theirs = join(makeProject(), 'theirs')
  git(cwd, 'worktree', 'add', '-q', '--detach', theirs)
  git(theirs, 'commit', '-q', '--allow-empty', '-m', 'only here')
  const tip = git(theirs, 'rev-parse', 'HEAD')
  renameSync(theirs, `${theirs}.away`)
  expect((await runIn(cwd)).code).toBe(0)
  renameSync(`${theirs}.away`, theirs)
  expect(git(theirs, 'rev-parse', 'HEAD')).toBe(tip)
})

test('64 copies, 4 at a time', async () => {
  const cwd = makeBranchProject([{ ...STEP, copies: 64 }], { agent: AGENT })
  const { code, events } = await runBranches(cwd, '--max-parallel', '4')
  expect(code).toBe(0)
  expect(commitsOf(cwd)).toHaveLength(64)
  let most = 0
  let now = 0
  for (const { type } of events) {
    if (type === 'iteration_started') most = Math.max(most, (now += 1))
    if (type === 'iteration_ended') now -= 1
  }
  expect([2, 3, 4]).toContain(most)
  expect(leftovers(cwd)).toEqual([])
})

/** Waits in its first iteration until a file exists. */
const PATIENT = sh(
  'echo ready; while [ ! -e "$FORKHESTRA_RECORD/go" ]; do sleep 0.02; done',
  ...WORK,
)

/** Does something with the project while both copies are at work. */
async function meanwhile(act: (cwd: string) => void) {
  const cwd = makeBranchProject([STEP], { agent: PATIENT, shared: 'begin\n' })
  const running = startBranches(cwd)
  await running.printed('a#1 │ ready')
  await running.printed('a#2 │ ready')
  act(cwd)
  writeFileSync(join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'go'), '')
  return { cwd, ...withRecord(await running.finished, cwd) }
}

test.each<[what: string, act: (cwd: string) => void]>([
  ['commits to it', (cwd) => git(cwd, 'commit', '-q', '--allow-empty', '-m', 'theirs')],
  ['rebases it', (cwd) => git(cwd, 'commit', '-q', '--amend', '-m', 'rewritten')],
  [
    'resets it to a new root',
    (cwd) => {
      const root = git(cwd, 'commit-tree', '-m', 'root', 'HEAD^{tree}')
      git(cwd, 'reset', '-q', '--hard', root)
    },
  ],
  ['checks out another', (cwd) => git(cwd, 'checkout', '-qb', 'elsewhere')],
  ['detaches HEAD', (cwd) => git(cwd, 'checkout', '-q', '--detach')],
  ['edits other files', (cwd) => writeFileSync(join(cwd, 'shared'), 'edited\n')],
])('a person who %s meanwhile', async (_, act) => {
  const { cwd, code } = await meanwhile(act)
  expect(code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  expect(await brokenPromises(cwd)).toEqual([])
  expect(worktreesOf(cwd)).toEqual([])
})

test('a person who deletes the base branch meanwhile', async () => {
  const { cwd, code, run, stderr } = await meanwhile((folder) => {
    git(folder, 'checkout', '-qb', 'elsewhere')
    git(folder, 'branch', '-D', 'main')
  })
  expect(code).toBe(0)
  expect(stderr).toContain('branch main was deleted')
  expect(stderr).toContain(`To bring it to main: git branch main forkhestra/${run}/merged`)
  const listed = await inProject(cwd, 'worktrees')
  expect(listed.stdout).toContain(`Next: git branch main forkhestra/${run}/merged\n`)
  git(cwd, 'branch', 'main', 'HEAD')
  const again = await inProject(cwd, 'worktrees')
  expect(again.stdout).toContain(
    `Next: git switch main && git merge --no-overwrite-ignore forkhestra/${run}/merged\n`,
  )
  expect(commitsOf(cwd, `forkhestra/${run}/merged`)).toEqual(COMMITTED)
})

test('worktrees that somebody deleted or broke before the resume', async () => {
  const agent = sh('echo begun; [ -e "$FORKHESTRA_RECORD/go" ] || exec sleep 60', ...WORK)
  const cwd = makeBranchProject([{ ...STEP, copies: 3 }], { agent })
  const running = startBranches(cwd)
  for (const copy of [1, 2, 3]) await running.printed(`a#${copy} │ begun`)
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  const [one = '', two = '', three = ''] = worktreesOf(cwd).map((name) =>
    join(`${cwd}.worktrees`, name),
  )
  rmSync(one, { recursive: true })
  // Git no longer knows this one, and somebody has worked in it.
  writeFileSync(join(two, 'by-hand'), 'x')
  rmSync(join(two, '.git'))
  git(cwd, 'worktree', 'prune')
  // Git still knows this one, although it leads elsewhere.
  writeFileSync(join(three, 'by-hand'), 'x')
  writeFileSync(join(three, '.git'), `gitdir: ${cwd}/.git\n`)
  writeFileSync(join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'go'), '')
  expect((await inProject(cwd, 'resume')).code).toBe(0)
  expect(commitsOf(cwd)).toEqual([...COMMITTED, 'work s1/c3/i1'])
  expect(git(cwd, 'ls-files')).toContain('by-hand')
  expect(readdirSync(`${two}.2`)).toContain('by-hand')
  expect((await inProject(cwd, 'worktrees')).stdout).toContain('git does not know this folder')
})

test('branches that somebody deleted before the resume', async () => {
  const agent = sh(
    `[ $FORKHESTRA_ITERATION = 1 ] && { ${WORK.slice(0, 2).join('; ')}; exit; }`,
    'echo begun; [ -e "$FORKHESTRA_RECORD/go" ] || exec sleep 60',
    'echo ORCHESTRA_COMPLETE',
  )
  const cwd = makeBranchProject([STEP], { agent })
  const running = startBranches(cwd)
  for (const copy of [1, 2]) await running.printed(`a#${copy} │ begun`)
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  rmSync(`${cwd}.worktrees`, { recursive: true })
  git(cwd, 'worktree', 'prune')
  git(cwd, 'branch', '-qD', ...branchesOf(cwd).filter((name) => name !== 'main'))
  git(cwd, 'gc', '-q', '--prune=now')
  writeFileSync(join(cwd, 'forge/orch/runs', runsOf(cwd)[0]!, 'go'), '')
  expect((await inProject(cwd, 'resume')).code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  expect(leftovers(cwd)).toEqual([])
})

test('a worktree that an agent made read-only', async () => {
  const agent = sh(...WORK.slice(0, 2), 'chmod -R a-w .', 'echo ORCHESTRA_COMPLETE')
  const cwd = makeBranchProject([STEP], { agent })
  // Root may write to everything.
  const wrap =
    process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []
  const child = Bun.spawn([...wrap, FORKHESTRA, '--chain', 'c'], {
    cwd,
    env: environment({ cwd, env: PARALLEL }),
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const [stderr, code] = await Promise.all([child.stderr.text(), child.exited])
  expect(stderr).not.toContain('internal error')
  expect(code).toBe(0)
  expect(commitsOf(cwd)).toEqual(COMMITTED)
  for (const name of worktreesOf(cwd)) chmodSync(join(`${cwd}.worktrees`, name), 0o755)
  expect(survivors()).toEqual([])
})

test('a full disk in the middle of a merge', async () => {
  const chains = { chains: { c: { verify: 'true', steps: [STEP] } } }
  const cwd = makeProject({
    'night.sh': `
      mkdir disk && mount -t tmpfs -o size=6m none disk && mkdir disk/p && cp -r agent forge .gitignore disk/p && cd disk/p || exit 99
      export HOME=$PWD XDG_STATE_HOME=$PWD/.state XDG_CONFIG_HOME=$PWD/.config
      git init -q -b main && git config user.name t && git config user.email t && git add . && git commit -qm begin
      forkhestra --chain c > out 2>&1; echo "code $?"
      git -C . fsck --no-dangling > /dev/null 2>&1; echo "fsck $?"
      rm -f ../fill; git status --porcelain --untracked-files=no
      forkhestra resume > out 2>&1; echo "code $?"
      git log --format=%s main | grep -o '^work s1/c[12]' | sort -u
      git worktree list | wc -l
    `,
    // The gate passes, and then there is no space for the merge itself.
    agent: sh('head -c 200000 /dev/urandom > "big-$(echo $FORKHESTRA_SCOPE | tr / -)"', ...WORK),
    'forge/orch/chains.json': JSON.stringify(chains).replace(
      '"true"',
      '"[ -e $FORKHESTRA_RECORD/full ] || { touch $FORKHESTRA_RECORD/full; cat /dev/zero > $FORKHESTRA_RECORD/../../../../../fill 2> /dev/null; true; }"',
    ),
    '.gitignore': '.state\n.config\nout\n',
  })
  const child = Bun.spawn(['unshare', '-rm', 'sh', 'night.sh'], {
    cwd,
    env: environment({
      cwd,
      env: { ...PARALLEL, PATH: `${join(FORKHESTRA, '..')}:${process.env['PATH']}` },
    }),
    stdin: 'ignore',
    stderr: 'inherit',
  })
  const stdout = await child.stdout.text()
  expect(stdout.split('\n').map((line) => line.trim())).toEqual([
    'code 1',
    'fsck 0',
    'code 0',
    'work s1/c1',
    'work s1/c2',
    '1',
    '',
  ])
})
