import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
  startBranches,
  subjectsOf,
} from '../../support/branches.ts'
import { survivors } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { problemsOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { git } from '../../support/repository.ts'
import { until } from '../../support/until.ts'

const AGENT = sh('eval "$1"')

/** Two copies in worktrees; scripts write shared notes to the folder NOTES. */
function makeCopies(prompt: string, more: object = {}): string {
  const step = { agent: './agent', copies: 2, iterations: 2, prompt, ...more }
  return makeBranchProject([step], { agent: AGENT })
}

const COMMIT = (file: string) => `echo x > "${file}"; git add -A; git commit -qm "${file}"`

test('tasks work in the worktree of their branch, and are merged with it', async () => {
  const prompt = [
    `/push "${COMMIT('of-$FORKHESTRA_PARENT_NAME').replaceAll('"', '\\"')}; pwd"`,
    '/run',
    'forkhestra receive | tail -n 1 > place; pwd >> place; git add -A; git commit -qm place-$FORKHESTRA_AGENT_NAME',
    'mv place "place-$FORKHESTRA_AGENT_NAME"; git add -A; git commit -qm moved',
    'echo ORCHESTRA_COMPLETE',
  ].join('\n')
  const cwd = makeCopies(prompt)
  const { code, stdout, stderr } = await runBranches(cwd)
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  for (const name of ['agent#1', 'agent#2']) {
    expect(existsSync(join(cwd, `of-${name}`))).toBe(true)
    const [task, own] = readFileSync(join(cwd, `place-${name}`), 'utf8')
      .trim()
      .split('\n')
    expect(task).toBe(own)
    expect(own).toContain('.worktrees/')
  }
  expect(leftovers(cwd)).toEqual([])
  expect(await problemsOf(cwd)).toEqual([])
})

test('work of tasks that outlive the last iteration of their agent is merged, too', async () => {
  const late = [
    'until [ -s pid ]; do sleep 0.05; done',
    'while kill -0 $(cat pid) 2> /dev/null; do sleep 0.05; done',
    'rm pid; echo late > late-$FORKHESTRA_PARENT_NAME',
  ].join('; ')
  const prompt = [`/push "${late}"`, '/run', 'echo $$ > pid; echo ORCHESTRA_COMPLETE'].join('\n')
  const cwd = makeCopies(prompt)
  const { code, events } = await runBranches(cwd)
  expect(code).toBe(0)
  for (const name of ['agent#1', 'agent#2'])
    expect(git(cwd, 'ls-files', `late-${name}`).trim()).toBe(`late-${name}`)
  expect(leftovers(cwd)).toEqual([])
  const order = events.map(({ type }) => type)
  expect(order.lastIndexOf('task_ended')).toBeLessThan(order.lastIndexOf('merge_ended'))
})

test('a task with a worktree of its own starts from the last commit of its branch', async () => {
  const prompt = [
    COMMIT('base-$FORKHESTRA_AGENT_NAME'),
    'forkhestra push isolation=worktree "ls; git log --format=%s"',
    'forkhestra run-queue; forkhestra receive > got; cat got > "got-$FORKHESTRA_AGENT_NAME"; rm got',
    'git add -A; git commit -qm got; echo ORCHESTRA_COMPLETE',
  ].join('\n')
  const cwd = makeCopies(prompt)
  const { code } = await runBranches(cwd)
  expect(code).toBe(0)
  for (const name of ['agent#1', 'agent#2']) {
    const got = readFileSync(join(cwd, `got-${name}`), 'utf8')
    expect(got).toContain(`base-${name}\n`)
  }
  expect(leftovers(cwd)).toEqual([])
})

test('after kill -9, tasks continue in the worktree of their branch', async () => {
  const work = [
    'echo > up-$FORKHESTRA_PARENT_NAME',
    '[ -e $GO ] || sleep 60',
    'pwd > "where-$FORKHESTRA_PARENT_NAME"',
    'git add -A; git commit -qm "task of $FORKHESTRA_PARENT_NAME"',
  ].join('; ')
  const prompt = [
    `/push retry=1 "${work.replaceAll('"', '\\"')}"`,
    '/run',
    '[ -e $GO ] || sleep 60',
    'forkhestra receive',
    'echo ORCHESTRA_COMPLETE',
  ].join('\n')
  const cwd = makeCopies(prompt)
  const go = join(cwd, '.state-go')
  writeFileSync(join(cwd, '.git/info/exclude'), '.state-go\n')
  const env = { GO: go }
  const running = startBranches(cwd, '--prompt', prompt.replaceAll('$GO', go))
  const trees = () => git(cwd, 'worktree', 'list', '--porcelain').split('\n')
  const folders = () =>
    trees().flatMap((line) => (line.startsWith('worktree ') ? [line.slice(9)] : []))
  const areUp = () =>
    folders().filter((folder) =>
      ['agent#1', 'agent#2'].some((name) => existsSync(join(folder, `up-${name}`))),
    ).length === 2
  await until(areUp)
  running.signal('SIGKILL')
  await running.finished
  writeFileSync(env.GO, '')
  const { code, stdout, stderr } = await inProject(cwd, 'resume', '--kill-orphans')
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  expect(survivors()).toEqual([])
  for (const name of ['agent#1', 'agent#2'])
    expect(readFileSync(join(cwd, `where-${name}`), 'utf8')).toContain('.worktrees/')
  expect(
    subjectsOf(cwd)
      .filter((each) => each.startsWith('task of'))
      .toSorted(),
  ).toEqual(['task of agent#1', 'task of agent#2'])
  expect(leftovers(cwd)).toEqual([])
  expect(await problemsOf(cwd)).toEqual([])
  const events = journalOf(cwd, runsOf(cwd)[0]!)
  expect(ofType(events, 'task_ended').map(({ attempt }) => attempt)).toEqual([1, 1, 2, 2])
})

test('others wait for an agent whose worktree is still being prepared', async () => {
  const prompt = [
    'case $FORKHESTRA_AGENT_NAME in',
    '*1) touch "$(git rev-parse --git-common-dir)/up"; forkhestra receive --from agent#2 > got; git add -A; git commit -qm got;;',
    '*2) forkhestra send agent#1 "I am late";;',
    'esac',
    'echo ORCHESTRA_COMPLETE',
  ].join('\n')
  const setup =
    'case $PWD in *c2*) until [ -e "$(git rev-parse --git-common-dir)/up" ]; do sleep 0.05; done;; esac'
  const cwd = makeCopies(prompt, { setup })
  const { code, stdout, stderr } = await runBranches(cwd)
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe('[agent#2] I am late\n')
})
