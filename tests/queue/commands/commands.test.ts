import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, survivors } from '../../support/forkhestra.ts'
import {
  ask,
  makeQueueProject,
  problemsOf,
  runPrompt,
  startPrompt,
  tasksOf,
} from '../../support/queue.ts'
import { makeProject, sh } from '../../support/project.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

test('a user queues a task for a finished run and runs it', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  const run = runsOf(cwd)[0]!
  expect((await forkhestra(['push', '--name', 'one', 'echo uno'], { cwd })).stdout).toBe('one\n')
  expect((await forkhestra(['push', 'name=two', 'exit 3'], { cwd })).stdout).toBe('two\n')
  const queued = await forkhestra(['queue'], { cwd })
  expect(queued.stdout).toMatch(
    /^one {2}queued .*echo uno\ntwo {2}queued .*exit 3\n2 queued, 0 ready/,
  )
  const first = await forkhestra(['run-queue', '1'], { cwd })
  expect(first.code).toBe(0)
  expect(first.stdout).toContain('Started: one\n')
  expect(first.stdout).toContain('Task one: done')
  const second = await forkhestra(['run-queue'], { cwd })
  expect(second.code).toBe(1)
  expect(second.stderr).toContain('Task two: failed (fatal: exit 3)')
  expect((await forkhestra(['inbox'], { cwd })).stdout).toMatch(
    /^one {2}result .* ago\ntwo {2}result/,
  )
  expect((await forkhestra(['check'], { cwd })).stdout).toBe(
    '[one: done]\nuno\n[two: failed (fatal)] exit 3\n',
  )
  expect((await forkhestra(['inbox'], { cwd })).stdout).toBe('The inbox is empty.\n')
  expect(runsOf(cwd)).toEqual([run])
  expect(await problemsOf(cwd)).toEqual([])
})

test('a push opens a run if there is none', async () => {
  const cwd = makeProject({ 'forge/.keep': '', worker: sh('echo "worked: $1"') })
  expect((await forkhestra(['queue'], { cwd })).stdout).toBe('The queue is empty.\n')
  expect(runsOf(cwd)).toEqual([])
  const push = ['push', '--agent', './worker', '--name', 'one', 'do it']
  expect((await forkhestra(push, { cwd })).code).toBe(0)
  expect(runsOf(cwd)).toHaveLength(1)
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  expect((await forkhestra(['receive'], { cwd })).stdout).toBe('[one: done]\nworked: do it\n')
  const { code, stdout } = await forkhestra(['runs'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('complete')
})

test('a task without an existing agent is refused', async () => {
  const cwd = makeProject({ 'forge/.keep': '' })
  const env = { PATH: '/usr/bin:/bin', IS_SANDBOX: '1' }
  await forkhestra(['push', 'name=one', 'do it'], { cwd, env })
  const { code, stderr } = await forkhestra(['run-queue'], { cwd, env })
  expect(code).toBe(1)
  expect(stderr).toContain("there is no 'claude' on PATH")
})

test('tasks that a user starts in a live run are run by its process', async () => {
  const cwd = makeQueueProject('touch up; until [ -e go ]; do sleep 0.05; done\n')
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  await forkhestra(['push', 'name=one', 'echo $PPID > parent; echo uno'], { cwd })
  const { code, stdout } = await forkhestra(['run-queue'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toBe('Started: one\n')
  expect(Number(readFileSync(join(cwd, 'parent'), 'utf8'))).toBe(running.pid)
  writeFileSync(join(cwd, 'go'), '')
  expect((await running.finished).stdout).toContain('Unread in the inbox: 1 from one')
})

test('a message is delivered to one of several readers', async () => {
  const cwd = makeQueueProject("/push name=one 'echo uno'\n/run\ntrue\n")
  await runPrompt(cwd)
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => ask<{ messages: unknown[] }>(cwd, 'check')),
  )
  expect(answers.flatMap(({ messages }) => messages)).toHaveLength(1)
  expect(await problemsOf(cwd)).toEqual([])
})

test.each([
  [['push'], 'The prompt of the task is missing.'],
  [['push', '--name', 'a b', 'x'], 'is not a valid task name'],
  [['push', '--name', 'main', 'x'], "'main' is reserved for the first agent"],
  [['push', '--name', '../up', 'x'], 'is not a valid task name'],
  [['push', '--retry', 'often', 'x'], 'expected a whole number'],
  [['push', '--isolation', 'box', 'x'], 'expected shared or worktree'],
  [['run-queue', 'many'], 'expected a whole number'],
  [['run-queue', '2', '--parallel', '3'], 'run-queue takes one number.'],
  [['receive', '--from', ','], 'from is empty.'],
  [['send', 'main'], 'send needs an agent and a message.'],
  [['send', 'nobody', 'x'], "This run has no agent or task named 'nobody'."],
  [['cancel', 'nobody'], "This run has no agent or task named 'nobody'."],
  [['cancel', 'main'], "'main' is not a task and cannot be cancelled."],
  [['queue', 'verfy'], "Unexpected argument 'verfy' (did you mean 'verify'?)"],
  [['queue', '--run', 'nope'], "No run matches 'nope'."],
])('%j is refused with a message', async (words, message) => {
  const cwd = makeQueueProject("/push name=one 'true'\ntrue\n")
  await runPrompt(cwd)
  const { code, stderr } = await forkhestra(words, { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(message)
  const json = await forkhestra([...words, '--json'], { cwd })
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false })
})

test('an agent of a run without a record has no queue', async () => {
  const cwd = makeProject({ 'forge/.keep': '' })
  const { code, stderr } = await forkhestra(['push', 'x'], { cwd, env: { FORKHESTRA_RUN_ID: 'r' } })
  expect(code).toBe(2)
  expect(stderr).toContain('run r has none')
})

test('a prompt with /push is refused in a run without a record', async () => {
  const cwd = makeProject({ agent: sh('touch ran'), 'prompt.md': "/push name=one 'true'\nGo.\n" })
  const env = { HOME: 'nowhere', XDG_STATE_HOME: '' }
  const args = ['./agent', '--prompt-file', 'prompt.md']
  const { code, stderr } = await forkhestra(args, { cwd, env })
  expect(code).toBe(1)
  expect(stderr).toContain('Queues need a run record, and this run has none')
  expect(existsSync(join(cwd, 'ran'))).toBe(false)
})

test('run-queue starts as many tasks as fit and reports how many stay queued', async () => {
  const cwd = makeQueueProject(
    'for i in $(seq 20); do forkhestra push "until [ -e go ]; do sleep 0.05; done" >/dev/null; done; forkhestra run-queue | tail -1 > said; touch go',
  )
  await runPrompt(cwd)
  expect(readFileSync(join(cwd, 'said'), 'utf8')).toBe(
    '4 tasks stay queued: the limit of running tasks is reached.\n',
  )
  await until(() => survivors().length === 0)
  expect((await tasksOf(cwd)).filter(({ state }) => state === 'queued')).toHaveLength(4)
})

test('a task name that is in use is refused before the agent starts', async () => {
  const cwd = makeQueueProject("/push name=one 'true'\necho ran >> ran\n")
  const args = ['./agent -> ./agent', '--prompt-file', 'prompt.md']
  const { code, stderr } = await forkhestra(args, { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain("A task named 'one' has not ended yet.")
  expect(readFileSync(join(cwd, 'ran'), 'utf8')).toBe('ran\n')
  expect(await tasksOf(cwd)).toHaveLength(1)
})

test('receive does not wait for tasks that no process runs', async () => {
  const cwd = makeQueueProject(
    "/push name=one 'touch up; [ -e go ] || sleep 60'\n/run\n[ -e go ] || sleep 60\n",
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  const waiting = ask<{ status: string }>(cwd, 'receive')
  running.signal('SIGKILL')
  await running.finished
  expect((await waiting).status).toBe('nothing_to_wait_for')
  expect((await ask<{ status: string }>(cwd, 'receive')).status).toBe('nothing_to_wait_for')
  writeFileSync(join(cwd, 'go'), '')
  expect((await forkhestra(['resume', '--kill-orphans'], { cwd })).code).toBe(0)
})

test('if two users run the same queue, one process runs the tasks for both', async () => {
  const cwd = makeQueueProject('true\n')
  await runPrompt(cwd)
  for (const name of ['one', 'two', 'three', 'four']) {
    await forkhestra(['push', `name=${name}`, `echo ${name} >> ran; sleep 0.3`], { cwd })
  }
  const ends = await Promise.all(
    ['1', '3'].map((count) => forkhestra(['run-queue', count], { cwd })),
  )
  expect(ends.map(({ code }) => code)).toEqual([0, 0])
  // The second one may report that the first one runs the queue.
  const notice = /^(?:\[forkhestra\] Process \d+ is already running this queue;.*\n)?$/
  for (const { stderr } of ends) expect(stderr).toMatch(notice)
  expect(readFileSync(join(cwd, 'ran'), 'utf8').trim().split('\n').toSorted()).toEqual([
    'four',
    'one',
    'three',
    'two',
  ])
  expect(await problemsOf(cwd)).toEqual([])
})
