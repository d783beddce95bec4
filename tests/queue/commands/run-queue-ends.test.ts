import { expect, test } from 'bun:test'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, Running, shell } from '../../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../../support/project.ts'
import { ask, makeQueueProject, startPrompt, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

/** Reports that it is up and runs until it may end; `stubborn` also survives its forkhestra. */
const WAITER = sh(
  'touch "up-$FORKHESTRA_AGENT_NAME"',
  'until [ -e go ]; do sleep 0.05; done',
  'echo ok',
)

function makeWaiterProject(): string {
  return makeProject({ 'forge/.keep': '', waiter: WAITER, worker: sh('echo "worked: $1"') })
}

async function push(cwd: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    await forkhestra(['push', '--agent', './waiter', '--name', name, 'hi'], { cwd })
  }
}

test('a run-queue that is stopped with nothing left succeeds', async () => {
  const cwd = makeWaiterProject()
  await push(cwd, 'z1')
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-z1')
  expect((await forkhestra(['stop'], { cwd })).code).toBe(0)
  writeFileSync(join(cwd, 'go'), '')
  expect(await running.finished).toMatchObject({ code: 0, stderr: '' })
})

test('a run-queue that is stopped reports what is left', async () => {
  const cwd = makeWaiterProject()
  await push(cwd, 'z1', 'z2')
  const running = new Running(['run-queue', '--parallel', '1'], { cwd })
  await fileIn(cwd, 'up-z1')
  await forkhestra(['stop'], { cwd })
  writeFileSync(join(cwd, 'go'), '')
  const { code, stderr } = await running.finished
  expect(code).toBe(1)
  expect(stderr).toBe('[forkhestra] Stopped; not finished: z2; resume with: forkhestra run-queue\n')
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
})

/** A project whose run-queue was killed while its agent is still alive. */
async function makeKilled(): Promise<string> {
  const cwd = makeWaiterProject()
  await push(cwd, 'k1')
  const running = new Running(['run-queue'], { cwd })
  await fileIn(cwd, 'up-k1')
  running.signal('SIGKILL')
  await running.finished
  return cwd
}

async function letGo(cwd: string): Promise<void> {
  const { code } = await forkhestra(['run-queue', '--kill-orphans'], { cwd })
  expect(code).toBe(1)
}

test('a run-queue that is refused because of orphans changes nothing', async () => {
  const cwd = await makeKilled()
  await push(cwd, 'k2')
  const { code, stdout, stderr } = await forkhestra(['run-queue', '--json'], { cwd })
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({ ok: false })
  expect(stderr).toContain('left these processes running')
  const plain = await forkhestra(['run-queue'], { cwd })
  expect(plain).toMatchObject({ code: 1, stdout: '' })
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['k1', 'running'],
    ['k2', 'queued'],
  ])
  writeFileSync(join(cwd, 'go'), '')
  await letGo(cwd)
})

test('after a kill, all commands say that no process is running, and how to resume', async () => {
  const cwd = await makeKilled()
  const goOn = 'its forkhestra process is gone; resume with: forkhestra run-queue --kill-orphans'
  const received = await forkhestra(['receive'], { cwd })
  expect(received.code).toBe(1)
  expect(received.stderr).toBe(`[forkhestra] no message, and no agent is running; k1: ${goOn}\n`)
  const named = await forkhestra(['receive', '--from', 'k1,nobody'], { cwd })
  expect(named.stderr).toBe(
    `[forkhestra] no message, and no agent is running; k1: ${goOn}; nobody: unknown\n`,
  )
  const { stdout } = await forkhestra(['queue'], { cwd })
  expect(stdout).toMatch(/^k1 {2}interrupted /)
  expect(stdout).toEndWith(`\nk1: ${goOn}\n`)
  const cancelled = await forkhestra(['cancel', 'k1'], { cwd })
  expect(cancelled.stdout).toBe(`Will be stopped: k1; ${goOn}\n`)
  writeFileSync(join(cwd, 'go'), '')
  await letGo(cwd)
})

test('receive lists queued tasks if nothing was started', async () => {
  const cwd = makeWaiterProject()
  await push(cwd, 'q1')
  const received = await forkhestra(['receive'], { cwd })
  expect(received.stderr).toBe(
    '[forkhestra] no message, and no agent is running; 1 task is queued: forkhestra run-queue\n',
  )
  const [run = ''] = runsOf(cwd)
  const other = await forkhestra(['receive', '--run', run], { cwd })
  expect(other.stderr).toEndWith(`forkhestra run-queue --run ${run}\n`)
  const named = await forkhestra(['receive', '--from', 'q1'], { cwd })
  expect(named.stderr).toBe(
    '[forkhestra] no message, and no agent is running; q1: queued: forkhestra run-queue\n',
  )
})

test('a run-queue next to a live run names the process that runs the tasks', async () => {
  const cwd = makeQueueProject('touch up; until [ -e go ]; do sleep 0.05; done\n')
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  await forkhestra(['push', 'name=one', 'true'], { cwd })
  const { code, stdout, stderr } = await forkhestra(['run-queue'], { cwd })
  writeFileSync(join(cwd, 'go'), '')
  await running.finished
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Started: one\n' })
  expect(stderr).toBe(
    `[forkhestra] Process ${running.pid} is already running this queue; Ctrl-C only stops waiting for it.\n`,
  )
})

test('a task that ended with SIGPIPE is described in a sentence', async () => {
  const cwd = makeWaiterProject()
  await push(cwd, 'one')
  // Only the first line is read; the rest has no reader.
  await shell('forkhestra run-queue | head -n 1; true', cwd)
  const [run = ''] = runsOf(cwd)
  await until(() => ofType(journalOf(cwd, run), 'task_ended').length > 0)
  expect(ofType(journalOf(cwd, run), 'task_ended')[0]).toMatchObject({
    class: 'lost',
    error: 'the run was interrupted by a closed stdout',
  })
})

test('a mistake in the prompt of a task is reported with its location and hint', async () => {
  const cwd = makeWaiterProject()
  const prompt = '/push nmae=x "y"\nDo it'
  await forkhestra(['push', 'agent=./worker', 'name=bad', prompt], { cwd })
  writeFiles(cwd, { nobody: sh('exit 0') })
  await forkhestra(['push', 'agent=nobody', 'name=gone', prompt], { cwd })
  rmSync(join(cwd, 'nobody'))
  const { code, stderr } = await forkhestra(['run-queue'], { cwd })
  expect(code).toBe(1)
  const lines = stderr.trim().split('\n').toSorted()
  expect(lines).toEqual([
    expect.stringMatching(/Task bad: failed \(precondition: .*\(did you mean 'name'\?\)\)$/),
    expect.stringMatching(/Task gone: failed \(precondition: Agent not found: nobody\)$/),
  ])
  const bad = await forkhestra(['check', '--from', 'bad'], { cwd })
  expect(bad.stdout).toMatch(
    /^\[bad: failed \(precondition\)\] .*bad:1:7 .*\n {2}\/push nmae=x "y"\n {8}\^{4}\nOptions are name, /,
  )
  const gone = await forkhestra(['check', '--from', 'gone'], { cwd })
  expect(gone.stdout).toMatch(/Agent not found: nobody\nThere is no program named 'nobody' on PATH/)
})

test('a task without an agent, started by root, fails with a hint', async () => {
  if (process.getuid?.() !== 0) return
  const cwd = makeProject({ 'forge/.keep': '', claude: sh('true') })
  await forkhestra(['push', 'name=own', 'hi'], { cwd })
  await forkhestra(['run-queue'], { cwd })
  const { messages } = await ask<{ messages: { error: string }[] }>(cwd, 'check')
  expect(messages[0]?.error).toContain('IS_SANDBOX=1')
  expect(messages[0]?.error).toContain('--agent')
})

test('push warns that a task without an agent cannot start, if there is no claude', async () => {
  const cwd = makeProject({ 'forge/.keep': '' })
  const { code, stderr } = await forkhestra(['push', 'hi'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toMatch(/Warning: the task cannot start yet: .*'claude' on PATH/)
  expect(stderr).toContain('Or name another agent: push --agent.')
})

test('push refuses an option after the text', async () => {
  const cwd = makeProject({ 'forge/.keep': '', worker: sh('true') })
  const refused = await forkhestra(['push', 'hi', 'agent=./worker'], { cwd })
  expect([refused.code, refused.stdout]).toEqual([2, ''])
  expect(refused.stderr).toContain("'agent=./worker' comes after the text.")
  const quoted = await forkhestra(['push', 'agent=./worker', 'Set agent=x and timeout=5'], { cwd })
  expect(quoted.code).toBe(0)
})

test('show of a failed queue has the command that pushes a task again', async () => {
  const cwd = makeProject({ 'forge/.keep': '', broken: sh('exit 3') })
  await forkhestra(['push', 'agent=./broken', 'name=half', 'Do it'], { cwd })
  await forkhestra(['run-queue'], { cwd })
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toMatch(
    /^ {2}forkhestra push --run \S+ name=half agent=.\S* "PROMPT" +push half again$/m,
  )
  expect(stdout).toMatch(/what half printed$/m)
})

test('show does not offer the output of a task that was never started', async () => {
  const cwd = makeProject({ 'forge/.keep': '' })
  await forkhestra(['push', 'name=own', 'hi'], { cwd })
  await forkhestra(['run-queue'], { cwd })
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toContain('push own again')
  expect(stdout).not.toContain('what own printed')
})
