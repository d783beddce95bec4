import { afterEach, expect, test } from 'bun:test'
import { Database } from 'bun:sqlite'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive, Running } from '../../support/forkhestra.ts'
import { makeQueueProject, problemsOf, tasksOf } from '../../support/queue.ts'
import { endsIn, storeOf } from '../../support/queue-records.ts'
import { sh } from '../../support/project.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { git, makeRepository, removeWorktrees } from '../../support/repository.ts'
import { fileIn, until } from '../../support/until.ts'

afterEach(removeWorktrees)

const eventsOf = (cwd: string) => journalOf(cwd, runsOf(cwd)[0]!)

function pidIn(cwd: string): number {
  return Number(readFileSync(join(cwd, 'pid'), 'utf8'))
}

const hasPid = (cwd: string) => existsSync(join(cwd, 'pid')) && pidIn(cwd) > 0

test('follow-up tasks of a success are queued even while the run is stopping', async () => {
  const child = '[ -e fast ] || { touch ready; exec sleep 60; }'
  const cwd = makeQueueProject('', { 'child.sh': child })
  const prompt =
    '/push name=child retry=1 ". ./child.sh"\n/run\ntrue\n/push name=after agent=./agent "true"\n'
  await forkhestra(['push', 'agent=./agent', 'name=parent', prompt], { cwd })
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'ready')
  // Its own agent is done, and the task waits for its child.
  await until(() => ofType(eventsOf(cwd), 'task_started').length === 2)
  const { pid } = ofType(eventsOf(cwd), 'task_started')[0]!
  await until(() => !isAlive(pid!))
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  writeFileSync(join(cwd, 'fast'), '')
  await forkhestra(['run-queue'], { cwd })
  const states = (await tasksOf(cwd)).map(({ name, end }) => `${name} ${end?.success}`)
  expect(states.toSorted()).toEqual(['after true', 'child true', 'parent true'])
})

/** Lets git create the first worktree and blocks the second one. */
const SECOND_HANGS = (folder: string) =>
  `if [ -e ${folder}/one ]; then touch ${folder}/two; sleep 60; fi; touch ${folder}/one; cat`

test('tasks that were claimed but not started when a run stops are kept', async () => {
  const cwd = makeRepository('', { '.gitattributes': 'file.txt filter=slow\n' })
  const folder = join(cwd, 'forge')
  git(cwd, 'config', 'filter.slow.smudge', SECOND_HANGS(folder))
  git(cwd, 'config', 'filter.slow.clean', 'cat')
  for (const name of ['t1', 't2', 't3', 't4']) {
    const words = ['agent=./agent', `name=${name}`, 'isolation=worktree']
    await forkhestra(['push', ...words, `touch ${folder}/began; exec sleep 60`], { cwd })
  }
  const running = new Running(['run-queue'], { cwd })
  await Promise.all([fileIn(folder, 'began'), fileIn(folder, 'two')])
  running.signal('SIGINT')
  expect((await running.finished).code).toBe(130)
  const tasks = endsIn(cwd).map(({ name, state, end }) => `${name} ${end?.class ?? state}`)
  expect(tasks.toSorted()).toEqual(['t1 lost', 't2 ready', 't3 ready', 't4 ready'])
  const started = ofType(eventsOf(cwd), 'task_started').filter(({ pid }) => pid !== undefined)
  expect(started.map(({ task }) => task)).toEqual(['t1'])
  expect(await problemsOf(cwd)).toEqual([])
})

/** Continues in a new session, detached from its parent. */
const DAEMON = `(setsid sh -c 'echo $$ > pid; exec sleep 60' > null 2>&1 < /dev/null &)\n`

test('processes of a cancelled task end with it, not with the run', async () => {
  const cwd = makeQueueProject('', { 'work.sh': `${DAEMON}sleep 60\n` })
  await forkhestra(['push', 'agent=./agent', 'name=a', '. ./work.sh'], { cwd })
  await forkhestra(['push', 'agent=./agent', 'name=b', 'until [ -e go ]; do sleep 0.05; done'], {
    cwd,
  })
  const running = new Running(['run-queue'], { cwd })
  await until(() => hasPid(cwd))
  await forkhestra(['cancel', 'a'], { cwd })
  await until(() => ofType(eventsOf(cwd), 'task_ended').length === 1)
  expect(isAlive(pidIn(cwd))).toBe(false)
  writeFileSync(join(cwd, 'go'), '')
  expect((await running.finished).stderr).toContain(
    'a left processes running, now ended: sleep 60 (pid',
  )
})

test('processes that a task leaves behind are killed at its end and reported', async () => {
  const cwd = makeQueueProject('', {
    'work.sh': `${DAEMON}until [ -s pid ]; do sleep 0.05; done; echo done\n`,
  })
  await forkhestra(['push', 'agent=./agent', 'name=a', '. ./work.sh'], { cwd })
  await forkhestra(['push', 'agent=./agent', 'name=b', 'until [ -e go ]; do sleep 0.05; done'], {
    cwd,
  })
  const running = new Running(['run-queue'], { cwd })
  await until(() => ofType(eventsOf(cwd), 'task_ended').length === 1)
  expect(isAlive(pidIn(cwd))).toBe(false)
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await running.finished
  expect(code).toBe(0)
  expect(stderr).toContain(`a left processes running, now ended: sleep 60 (pid ${pidIn(cwd)})`)
})

test('detached processes of a task are killed at the end of the queue and reported', async () => {
  const hidden = `(setsid env -i sh -c 'echo $$ > pid; exec sleep 60' > null 2>&1 < /dev/null &)\n`
  const cwd = makeQueueProject('', {
    'work.sh': `${hidden}until [ -s pid ]; do sleep 0.05; done; echo done\n`,
  })
  await forkhestra(['push', 'agent=./agent', 'name=a', '. ./work.sh'], { cwd })
  const { stderr } = await forkhestra(['run-queue'], { cwd })
  expect(isAlive(pidIn(cwd))).toBe(false)
  expect(stderr).toContain(`left processes running, now ended: sleep 60 (pid ${pidIn(cwd)})`)
})

/** Reports its cost once the file `go` exists. */
const CLAUDE = sh(
  'case "$*" in *--version*) echo "2.1.0 (Claude Code)"; exit;; esac',
  'touch ready; until [ -e go ]; do sleep 0.05; done',
  `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.5,"session_id":"x","usage":{"input_tokens":1,"output_tokens":1}}'`,
)

test('the cost of an abandoned attempt is counted', async () => {
  const config = { agents: { w: { systemPromptText: 'Work.' } }, chains: {} }
  const files = { claude: CLAUDE, 'forge/orch/chains.json': JSON.stringify(config) }
  const cwd = makeQueueProject('', files)
  const env = { IS_SANDBOX: '1' }
  await forkhestra(['push', 'agent=w', 'name=a', 'x'], { cwd, env })
  const running = new Running(['run-queue'], { cwd, env })
  await fileIn(cwd, 'ready')
  const db = new Database(storeOf(cwd))
  const end = JSON.stringify({ success: false, class: 'lost', error: 'gone' })
  db.run(`update task set state = 'ended', worker = null, end = ? where name = 'a'`, [end])
  db.close()
  writeFileSync(join(cwd, 'go'), '')
  await running.finished
  const [ended, ...more] = ofType(eventsOf(cwd), 'task_ended')
  expect(ended).toMatchObject({ success: false, class: 'lost', usage: { costUsd: 0.5 } })
  expect(more).toEqual([])
})
