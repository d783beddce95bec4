import { afterEach, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../../support/forkhestra.ts'
import { makeQueueProject, RUN, runPrompt } from '../../support/queue.ts'
import { endsIn } from '../../support/queue-records.ts'
import { sh } from '../../support/project.ts'
import { git, makeRepository, removeWorktrees } from '../../support/repository.ts'

afterEach(removeWorktrees)

const COMMIT = 'git -c user.name=t -c user.email=t@example.org commit -qam work'

test('tasks in worktrees do not see each other, and none of their work is deleted', async () => {
  const cwd = makeRepository(
    [
      `/push name=commits isolation=worktree "echo one > file.txt; ${COMMIT}; echo committed"`,
      `/push name=leaves isolation=worktree "cat file.txt; echo two > file.txt"`,
      `/push name=reads isolation=worktree "cat file.txt; pwd"`,
      '/run parallel=1',
      'forkhestra receive --from commits,leaves,reads > got',
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'file.txt'), 'utf8')).toBe('before\n')
  const folders = readdirSync(`${cwd}.worktrees`).toSorted()
  expect(folders.map((name) => name.replace(/^.*-/, ''))).toEqual(['commits', 'leaves'])
  const [commits, leaves, reads] = endsIn(cwd)
  expect(commits?.end?.output).toContain('committed\n\n[forkhestra] The work is on branch')
  expect(commits?.end?.output).toContain(`${cwd}.worktrees/${folders[0]}`)
  expect(leaves?.end?.output).toStartWith('before\n')
  expect(reads?.end?.output).toStartWith(`before\n${cwd}.worktrees/`)
  expect(reads?.end?.output).not.toContain('[forkhestra]')
  expect(git(cwd, 'show', `forkhestra/${folders[0]}:file.txt`)).toBe('one')
  expect(readFileSync(join(`${cwd}.worktrees`, folders[1]!, 'file.txt'), 'utf8')).toBe('two\n')
  expect(git(cwd, 'worktree', 'list').split('\n')).toHaveLength(3)
  expect(git(cwd, 'branch', '--list', 'forkhestra/*').split('\n')).toHaveLength(2)
})

test('a relative entry in PATH does not make forkhestra use a git of the project', async () => {
  const cwd = makeRepository('/push name=one isolation=worktree "echo hello"\n/run\n', {
    'bin/git': sh('touch started', 'exit 1'),
  })
  const { code } = await forkhestra(RUN, {
    cwd,
    env: { PATH: `bin:${cwd}:${process.env['PATH']}` },
  })
  expect({ code, output: endsIn(cwd)[0]?.end?.output }).toEqual({ code: 0, output: 'hello' })
  expect(existsSync(join(cwd, 'started'))).toBe(false)
})

test('a failed task keeps its worktree', async () => {
  const cwd = makeRepository(
    [
      `/push name=fails isolation=worktree "echo new > new.txt; exit 1"`,
      '/run',
      'forkhestra receive > got',
    ].join('\n'),
  )
  await runPrompt(cwd)
  const [folder] = readdirSync(`${cwd}.worktrees`)
  expect(existsSync(join(`${cwd}.worktrees`, folder!, 'new.txt'))).toBe(true)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toContain(`${cwd}.worktrees/${folder}`)
})

test('a task with isolation=worktree fails before it starts if there is no repository', async () => {
  const cwd = makeQueueProject(
    '/push name=one isolation=worktree "touch ran"\n/run\nforkhestra receive --json > got\n',
  )
  await runPrompt(cwd)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toContain('"class":"precondition"')
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
  expect(existsSync(`${cwd}.worktrees`)).toBe(false)
})

test('a worktree whose work is merged is removed, and so is an empty folder of worktrees', async () => {
  const cwd = makeRepository('')
  const merge = `git -C ${cwd} merge -q $(git rev-parse HEAD)`
  writeFileSync(
    join(cwd, 'prompt.md'),
    [
      `/push name=merges isolation=worktree "echo one > file.txt; ${COMMIT}; ${merge}"`,
      '/run',
      'forkhestra receive > got',
    ].join('\n'),
  )
  git(cwd, 'commit', '-qam', 'the prompt')
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'file.txt'), 'utf8')).toBe('one\n')
  expect(existsSync(`${cwd}.worktrees`)).toBe(false)
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
})

test('a task in a worktree starts in the same subfolder as the project', async () => {
  const cwd = makeRepository('')
  const sub = join(cwd, 'packages/app')
  mkdirSync(sub, { recursive: true })
  writeFileSync(join(sub, 'note'), 'of the app\n')
  git(cwd, 'add', '.')
  git(cwd, 'commit', '-qm', 'app')
  const prompt = '/push name=one isolation=worktree "cat note"\n/run\nforkhestra receive > got\n'
  writeFileSync(join(sub, 'prompt.md'), prompt)
  mkdirSync(join(sub, 'forge'))
  const { code } = await forkhestra([join(cwd, 'agent'), '--prompt-file', 'prompt.md'], {
    cwd: sub,
  })
  expect(code).toBe(0)
  expect(readFileSync(join(sub, 'got'), 'utf8')).toBe('[one: done]\nof the app\n')
})

test('tasks that an agent in a worktree queues run there as well', async () => {
  const parent =
    "forkhestra push name=child 'pwd' > name; forkhestra run-queue > started; rm name started; pwd"
  const cwd = makeRepository(
    [
      `/push name=parent isolation=worktree ${JSON.stringify(parent)}`,
      '/run',
      'forkhestra receive --from parent > got',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const [first, second] = endsIn(cwd)
  expect(first?.end?.output).toStartWith(`${cwd}.worktrees/`)
  expect(second?.end?.output).toBe(first?.end?.output)
  expect(existsSync(`${cwd}.worktrees`)).toBe(false)
})

test.each([
  ['x.lock', '-x-lock'],
  ['語'.repeat(90), `-${'語'.repeat(20)}`],
])('a task named %s gets a valid branch name', async (name, end) => {
  const cwd = makeRepository(
    `/push name=${name} isolation=worktree "touch made; echo there"\n/run\nforkhestra receive > got\n`,
  )
  const { code, stderr } = await runPrompt(cwd)
  expect(code).toBe(0)
  expect(stderr).toBe('')
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toContain('there')
  const logs = await forkhestra(['logs', '--task', name], { cwd })
  expect(logs.stdout).toContain('there')
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toContain(end)
})

test('an existing branch is not an obstacle', async () => {
  const cwd = makeRepository()
  const work = async () => {
    await forkhestra(['push', 'agent=./agent', 'name=a', 'isolation=worktree', 'touch made'], {
      cwd,
    })
    return (await forkhestra(['run-queue'], { cwd })).code
  }
  expect(await work()).toBe(0)
  const [first] = readdirSync(`${cwd}.worktrees`)
  git(cwd, 'worktree', 'remove', '--force', `${cwd}.worktrees/${first}`)
  expect(await work()).toBe(0)
  expect(git(cwd, 'branch', '--list', 'forkhestra/*').split('\n')).toHaveLength(2)
})

test('isolation=worktree is refused in a folder that is in no commit', async () => {
  const cwd = makeRepository()
  const sub = join(cwd, 'sub/new')
  mkdirSync(join(sub, 'forge'), { recursive: true })
  const push = ['push', `agent=${cwd}/agent`, 'name=a', 'isolation=worktree', 'touch ran']
  await forkhestra(push, { cwd: sub })
  const { code, stdout, stderr } = await forkhestra(['run-queue'], { cwd: sub })
  expect(code).toBe(1)
  expect(stdout + stderr).toContain(
    '(precondition: isolation=worktree: the folder sub/new is not in the current commit',
  )
  expect(existsSync(`${cwd}.worktrees`)).toBe(false)
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
})

test('isolation=worktree in a repository without commits fails with a hint', async () => {
  const cwd = makeQueueProject('')
  git(cwd, 'init', '-q')
  const push = ['push', 'agent=./agent', 'name=a', 'isolation=worktree', 'touch ran']
  await forkhestra(push, { cwd })
  const { stdout, stderr } = await forkhestra(['run-queue'], { cwd })
  expect(stdout + stderr).toContain('(precondition: isolation=worktree needs at least one commit')
})

/** The results of tasks in worktrees, by their scripts. */
async function resultsOf(cwd: string, ...scripts: string[]): Promise<string[]> {
  const names = scripts.map((_, index) => `w${index}`)
  const pushes = scripts.map(
    (script, index) => `/push name=w${index} isolation=worktree "${script}"`,
  )
  const lines = [...pushes, '/run parallel=1', `forkhestra receive --from ${names.join(',')} > got`]
  writeFileSync(join(cwd, 'prompt.md'), lines.join('\n'))
  git(cwd, 'commit', '-qam', 'the prompt')
  expect((await runPrompt(cwd)).code).toBe(0)
  return endsIn(cwd).map(({ end }) => end?.output ?? '')
}

test('work that an agent left on another branch is reported', async () => {
  const cwd = makeRepository('')
  const work = `echo one > file.txt; ${COMMIT}`
  const [first, second, third] = await resultsOf(
    cwd,
    `${work}; git checkout -qb other`,
    `git checkout -qb aside; echo two > file.txt; ${COMMIT}; git checkout -q -`,
    'git checkout -qb empty',
  )
  expect(first).toBe('[forkhestra] The commits are on branch other')
  expect(git(cwd, 'show', 'other:file.txt')).toBe('one')
  expect(second).toBe('[forkhestra] The commits are on branch aside')
  expect(git(cwd, 'show', 'aside:file.txt')).toBe('two')
  expect(third).toBe('')
  expect(git(cwd, 'branch', '--list', 'forkhestra/*')).toBe('')
})

test('a commit that two tasks made identically is kept once, and both report it', async () => {
  const cwd = makeRepository('')
  const at = 'GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z'
  const same = `echo one > file.txt; ${at} ${COMMIT}`
  const [first, second] = await resultsOf(cwd, same, same)
  const branch = /on branch (forkhestra\/\S+-w0), in /.exec(first ?? '')?.[1]
  expect(second).toBe(`[forkhestra] The commits are on branch ${branch}`)
  expect(git(cwd, 'show', `${branch}:file.txt`)).toBe('one')
})
