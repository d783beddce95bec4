import { afterEach, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive, Running } from '../../support/forkhestra.ts'
import { endsIn } from '../../support/queue-records.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { git, makeRepository, removeWorktrees, worktreesOf } from '../../support/repository.ts'
import { fileIn, until } from '../../support/until.ts'

afterEach(removeWorktrees)

/** Pushes a task that runs this script in a worktree, and runs the queue. */
async function workOff(cwd: string, script: string, env: Record<string, string> = {}) {
  writeFileSync(join(cwd, 'forge/task.sh'), script)
  const push = ['push', 'agent=./agent', 'name=a', 'isolation=worktree', `. ${cwd}/forge/task.sh`]
  await forkhestra(push, { cwd })
  return forkhestra(['run-queue'], { cwd, env })
}

const COMMIT = 'git commit -qam work'

test.each([
  ['a file that is ignored', 'mkdir notes; echo hours > notes/result.md'],
  ['an untracked file', 'echo new > new.txt'],
  ['a change that git ignores', 'git update-index --assume-unchanged file.txt; date > file.txt'],
  [
    'a change outside the sparse checkout',
    'git update-index --skip-worktree file.txt; date > file.txt',
  ],
  [
    'a merge that is not committed',
    'git checkout -qb side; git commit -q --allow-empty -m x; git checkout -q -; git merge -q --no-ff --no-commit side',
  ],
  ['a commit without a branch', `git checkout -q --detach; date > file.txt; ${COMMIT}`],
  [
    'a commit without a branch that was left',
    `git checkout -q --detach; date > file.txt; ${COMMIT}; git checkout -q -`,
  ],
  ['a stash', 'date > file.txt; git stash -q'],
])('%s keeps a worktree regardless of the status settings of git', async (_, script) => {
  const cwd = makeRepository()
  git(cwd, 'config', 'status.showUntrackedFiles', 'no')
  expect((await workOff(cwd, script)).code).toBe(0)
  const [name] = worktreesOf(cwd)
  expect(name).toBeDefined()
  const [task] = endsIn(cwd)
  expect(task?.end?.output).toContain(`${cwd}.worktrees/${name}`)
})

// Git sets such variables for its hooks.
test.each([
  ['GIT_DIR', '.git'],
  ['GIT_INDEX_FILE', '.git/index'],
  ['GIT_OBJECT_DIRECTORY', '.git/objects/incoming'],
])('with %s, an agent in a worktree commits to its own branch', async (name, value) => {
  const cwd = makeRepository()
  const before = git(cwd, 'rev-parse', 'HEAD')
  const env = { [name]: name === 'GIT_DIR' ? join(cwd, value) : value }
  expect((await workOff(cwd, `date > file.txt; ${COMMIT}`, env)).code).toBe(0)
  expect(git(cwd, 'rev-parse', 'HEAD')).toBe(before)
  const [worktree] = worktreesOf(cwd)
  expect(git(cwd, 'log', '-1', '--format=%s', `forkhestra/${worktree}`)).toBe('work')
})

test('the result names the folder to which an agent has moved its worktree', async () => {
  const cwd = makeRepository()
  await workOff(cwd, 'echo new > new.txt; git worktree move . "$PWD-moved"')
  const [name = ''] = worktreesOf(cwd)
  expect(name).toEndWith('-moved')
  const [task] = endsIn(cwd)
  expect(task?.end?.output).toContain(`uncommitted changes, in ${cwd}.worktrees/${name}`)
})

test.each([
  ['core.ignoreCase', 'true', 'echo new > FILE.TXT'],
  ['core.fileMode', 'false', 'chmod +x file.txt'],
  [
    'core.checkStat',
    'minimal',
    'touch -d 2020-01-01 file.txt; git update-index -q --refresh; echo beside > file.txt; touch -d 2020-01-01 file.txt',
  ],
  ['core.ignoreStat', 'true', 'date > file.txt'],
  [
    'core.excludesFile',
    '/dev/null',
    'echo "*.log" > "$(git rev-parse --git-path info/exclude)"; date > a.log',
  ],
  [
    'core.logAllRefUpdates',
    'false',
    `git checkout -q --detach; date > file.txt; ${COMMIT}; git checkout -q -`,
  ],
  ['core.logAllRefUpdates', 'false', `date > file.txt; ${COMMIT}; git reset -q --hard HEAD~1`],
])('work in a worktree is not lost to %s=%s', async (key, value, script) => {
  const cwd = makeRepository()
  git(cwd, 'config', 'core.trustctime', 'false')
  git(cwd, 'config', key, value)
  expect((await workOff(cwd, script)).code).toBe(0)
  expect(worktreesOf(cwd)).toHaveLength(1)
})

test.each([
  ['core.ignoreCase', 'true'],
  ['core.fileMode', 'false'],
  ['core.ignoreStat', 'true'],
  ['core.logAllRefUpdates', 'false'],
])('an unchanged worktree is also removed with %s=%s', async (key, value) => {
  const cwd = makeRepository()
  git(cwd, 'config', key, value)
  await workOff(cwd, 'git status -s; git checkout -q --detach; git checkout -q -')
  expect(worktreesOf(cwd)).toEqual([])
})

test('a worktree of a sparse checkout is kept only if it was changed', async () => {
  const cwd = makeRepository('', { 'in/a.txt': 'a\n', 'out/b.txt': 'b\n' })
  git(cwd, 'sparse-checkout', 'set', 'in')
  await workOff(cwd, 'ls')
  expect(worktreesOf(cwd)).toEqual([])
  await workOff(cwd, 'mkdir -p out; echo other > out/b.txt')
  expect(worktreesOf(cwd)).toHaveLength(1)
})

const ABANDON = `date > file.txt; ${COMMIT}`
const FORGET = 'git reflog expire --expire=now --all; rm -f "$(git rev-parse --git-path logs/HEAD)"'
const BACK =
  'git update-ref refs/heads/$(git branch --show-current) HEAD~1; git checkout -qf HEAD .'

test.each([
  ['ORIG_HEAD', `${ABANDON}; git reset -q --hard HEAD~1`, /commits on no branch \(\w+\)/],
  [
    'a ref of its own',
    `${ABANDON}; git update-ref refs/worktree/x HEAD; ${BACK}`,
    /commits on no branch \(\w+\)/,
  ],
  [
    'a pseudo-ref',
    `${ABANDON}; git update-ref MY_HEAD HEAD; ${BACK}`,
    /commits on no branch \(\w+\)/,
  ],
  ['nothing', 'true', /possibly commits on no branch \(the reflog is incomplete\)/],
])(
  'a worktree whose reflog is gone is kept, with commits that %s leads to',
  async (_, script, words) => {
    const cwd = makeRepository()
    git(cwd, 'config', 'core.logAllRefUpdates', 'false')
    await workOff(cwd, `${script}; ${FORGET}`)
    expect(worktreesOf(cwd)).toHaveLength(1)
    expect(endsIn(cwd)[0]?.end?.output).toMatch(words)
  },
)

function commitsIn(folder: string): string {
  return git(folder, 'rev-parse', '--short=12', 'HEAD').trim()
}

test('the result says which work is on the branch, and which would be lost by merging only that', async () => {
  const words = async (script: string) => {
    const cwd = makeRepository()
    await workOff(cwd, script)
    const [name] = worktreesOf(cwd)
    const path = `${cwd}.worktrees/${name}`
    const text = endsIn(cwd)[0]?.end?.output ?? ''
    const said = text.replaceAll(path, 'PATH').replaceAll(`forkhestra/${name}`, 'BRANCH')
    return said.replaceAll(commitsIn(path), 'HEAD')
  }
  expect(await words(`date > file.txt; ${COMMIT}`)).toBe(
    '[forkhestra] The work is on branch BRANCH, in PATH',
  )
  expect(await words('date > file.txt')).toBe(
    '[forkhestra] Not on branch BRANCH: uncommitted changes, in PATH',
  )
  expect(await words(`git checkout -q --detach; date > file.txt; ${COMMIT}`)).toBe(
    '[forkhestra] Not on branch BRANCH: commits on no branch (HEAD), in PATH',
  )
  const all = `date > file.txt; ${COMMIT}; git checkout -q --detach; echo 2 > file.txt; ${COMMIT}; echo 3 > file.txt`
  expect(await words(all)).toBe(
    [
      '[forkhestra] The work is on branch BRANCH, in PATH',
      '[forkhestra] Not on branch BRANCH: commits on no branch (HEAD) and uncommitted changes, in PATH',
    ].join('\n'),
  )
})

test('commits on another branch are reported, and the worktree is not kept for them', async () => {
  const cwd = makeRepository()
  await workOff(cwd, `git checkout -qb feature; date > file.txt; ${COMMIT}`)
  expect(worktreesOf(cwd)).toEqual([])
  expect(endsIn(cwd)[0]?.end?.output).toBe('[forkhestra] The commits are on branch feature')
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
})

test('a worktree that its agent has removed is not reported as kept', async () => {
  const cwd = makeRepository()
  await workOff(cwd, `here=$(pwd); date > file.txt; ${COMMIT}; cd /; rm -r $here`)
  expect(worktreesOf(cwd)).toEqual([])
  const { output } = endsIn(cwd)[0]!.end!
  expect(output).toMatch(/^\[forkhestra\] The work is on branch forkhestra\/\S+$/)
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).not.toBe('')
})

/** Creates a commit in the project that is on no branch. */
function amend(cwd: string): void {
  git(cwd, 'commit', '-q', '--allow-empty', '-m', 'one')
  git(cwd, 'commit', '-q', '--amend', '--allow-empty', '-m', 'two')
}

test.each([
  ['rm', 'here=$(pwd); cd /; rm -r $here'],
  ['git', 'git -C "$HOME" worktree remove "$(pwd)"'],
])('an unchanged worktree that %s has removed leaves no branch', async (_, script) => {
  const cwd = makeRepository()
  amend(cwd)
  await workOff(cwd, script)
  expect(endsIn(cwd)[0]?.end?.output).toBe('')
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
  expect(git(cwd, 'worktree', 'list').split('\n')).toHaveLength(1)
})

/** Its child takes some time to save its work when it is stopped. */
const SAVES = [
  `save() { sleep 1; echo precious > precious.txt; git add .; git commit -qm saved; exit 1; }`,
  'trap save TERM INT',
  'touch "$PROJECT/ready"',
  'while :; do sleep 0.05; done',
].join('\n')

test.each(['cancel', 'SIGINT'])(
  'a worktree stays as long as a child works in it (%s)',
  async (how) => {
    const cwd = makeRepository('', { 'saves.sh': SAVES })
    const prompt = '/push name=child ". ./saves.sh"\n/run\ntrue\n'
    const push = ['push', 'agent=./agent', 'name=parent', 'isolation=worktree', prompt]
    const env = { PROJECT: join(cwd, 'forge') }
    await forkhestra(push, { cwd })
    const running = new Running(['run-queue'], { cwd, env })
    await fileIn(join(cwd, 'forge'), 'ready')
    await until(() => ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_started').length === 2)
    if (how === 'cancel') await forkhestra(['cancel', 'parent'], { cwd })
    else running.signal('SIGINT')
    await running.finished
    const [name] = worktreesOf(cwd)
    expect(git(cwd, 'show', `forkhestra/${name}:precious.txt`)).toBe('precious')
    const parent = endsIn(cwd).find((task) => task.name === 'parent')
    expect(JSON.stringify(parent)).toContain(`${cwd}.worktrees/${name}`)
  },
)

test('a parent that stops waiting leaves its worktree to its child', async () => {
  const config = JSON.stringify({ chains: {}, queueLimits: { running: 1 } })
  const cwd = makeRepository('', { 'forge/orch/chains.json': config })
  const prompt = '/push name=child "pwd; touch made-by-child"\n/run parallel=1\npwd\n'
  await forkhestra(['push', 'agent=./agent', 'name=parent', 'isolation=worktree', prompt], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  const [name] = worktreesOf(cwd)
  expect(existsSync(join(`${cwd}.worktrees`, name!, 'made-by-child'))).toBe(true)
  expect(git(cwd, 'status', '--porcelain')).toBe('')
  const outputs = endsIn(cwd).map(({ end }) => end?.output)
  for (const output of outputs) expect(output).toStartWith(`${cwd}.worktrees/${name}\n`)
  for (const output of outputs) expect(output).toContain('[forkhestra]')
})

test('a worktree that neither parent nor child changed is removed', async () => {
  const config = JSON.stringify({ chains: {}, queueLimits: { running: 1 } })
  const cwd = makeRepository('', { 'forge/orch/chains.json': config })
  const prompt = '/push name=child pwd\n/run parallel=1\npwd\n'
  await forkhestra(['push', 'agent=./agent', 'name=parent', 'isolation=worktree', prompt], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  expect(worktreesOf(cwd)).toEqual([])
})

const WAITS = 'pwd; touch "$PROJECT/ready"; [ -e "$PROJECT/fast" ] || exec sleep 60'

test('after a kill, a child continues in the worktree of its parent, never in the project', async () => {
  const cwd = makeRepository('', { 'waits.sh': WAITS })
  const prompt = '/push name=child retry=1 "echo w > work; . ./waits.sh"\n/run\ntrue\n'
  const env = { PROJECT: join(cwd, 'forge') }
  await forkhestra(['push', 'agent=./agent', 'name=parent', 'isolation=worktree', prompt], { cwd })
  const running = new Running(['run-queue'], { cwd, env })
  await fileIn(join(cwd, 'forge'), 'ready')
  await until(() => ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_started').length === 2)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(cwd, 'forge/fast'), '')
  await forkhestra(['resume', '--kill-orphans'], { cwd, env })
  const [parent, child] = endsIn(cwd)
  const [name] = worktreesOf(cwd)
  expect(child?.end?.output).toStartWith(`${cwd}.worktrees/${name}`)
  expect(git(cwd, 'status', '--porcelain')).toBe('')
  // Its result says where its work is, although its process was killed.
  expect(parent?.end?.class).toBe('lost')
  expect(JSON.stringify(parent)).toContain(`${cwd}.worktrees/${name}`)
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toContain(`${cwd}.worktrees/${name}`)
})

test('a child fails if the worktree of its parent is gone, instead of working in the project', async () => {
  const cwd = makeRepository('', { 'waits.sh': WAITS })
  const prompt = '/push name=child retry=1 ". ./waits.sh; touch ran"\n/run\ntrue\n'
  const env = { PROJECT: join(cwd, 'forge') }
  await forkhestra(['push', 'agent=./agent', 'name=parent', 'isolation=worktree', prompt], { cwd })
  const running = new Running(['run-queue'], { cwd, env })
  await fileIn(join(cwd, 'forge'), 'ready')
  await until(() => ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_started').length === 2)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(join(cwd, 'forge/fast'), '')
  const [name] = worktreesOf(cwd)
  git(cwd, 'worktree', 'remove', '--force', `${cwd}.worktrees/${name}`)
  await forkhestra(['resume', '--kill-orphans'], { cwd, env })
  const [, child] = endsIn(cwd)
  expect(child?.end?.class).toBe('precondition')
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test('the result names the worktree of an earlier, lost attempt', async () => {
  const script = [
    'if [ -e "$PROJECT/second" ]; then echo ok; exit; fi',
    'touch half-done; touch "$PROJECT/second"; exec sleep 60',
  ].join('\n')
  const cwd = makeRepository('', { 'work.sh': script })
  const env = { PROJECT: join(cwd, 'forge') }
  const push = ['push', 'agent=./agent', 'name=a', 'retry=1', 'isolation=worktree', '. ./work.sh']
  await forkhestra(push, { cwd })
  const running = new Running(['run-queue'], { cwd, env })
  await fileIn(join(cwd, 'forge'), 'second')
  await until(() => ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_started').length === 1)
  running.signal('SIGKILL')
  await running.finished
  const { code } = await forkhestra(['resume', '--kill-orphans'], { cwd, env })
  expect(code).toBe(0)
  const [name] = worktreesOf(cwd)
  const [task] = endsIn(cwd)
  expect(task?.end?.output).toStartWith('ok\n')
  expect(task?.end?.output).toContain(`attempt 1 is in ${cwd}.worktrees/${name}`)
  const ended = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_ended')
  expect(ended.map(({ worktree }) => worktree?.isKept)).toEqual([true, false])
  expect((await forkhestra(['show'], { cwd })).stdout).toContain(`${cwd}.worktrees/${name}`)
})

test.each(['cancel', 'SIGINT'])('a hanging git process ends with its task (%s)', async (how) => {
  const cwd = makeRepository('', { '.gitattributes': 'file.txt filter=slow\n' })
  const pidFile = join(cwd, 'forge/pid')
  git(cwd, 'config', 'filter.slow.smudge', `echo $$ > ${pidFile}; sleep 60; cat`)
  git(cwd, 'config', 'filter.slow.clean', 'cat')
  const push = ['push', 'agent=./agent', 'name=a', 'isolation=worktree', 'touch ran']
  await forkhestra(push, { cwd })
  await forkhestra(['push', 'agent=./agent', 'name=b', 'isolation=worktree', 'touch ran'], { cwd })
  const running = new Running(['run-queue', '1'], { cwd })
  await until(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'))
  const began = performance.now()
  if (how === 'cancel') await forkhestra(['cancel', 'a'], { cwd })
  else running.signal('SIGINT')
  const { code } = await running.finished
  expect(code).toBe(how === 'cancel' ? 1 : 130)
  expect(performance.now() - began).toBeLessThan(20_000)
  expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false)
  expect(worktreesOf(cwd)).toEqual([])
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
  const states = endsIn(cwd).map(({ name, state, end }) => `${name} ${end?.class ?? state}`)
  expect(states).toEqual([how === 'cancel' ? 'a cancelled' : 'a ready', 'b queued'])
})
