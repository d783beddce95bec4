import { expect, test } from 'bun:test'
import { forkhestra, Running } from '../../support/forkhestra.ts'
import { McpClient } from '../../support/mcp.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask, problemsOf, tasksOf } from '../../support/queue.ts'
import { fileIn } from '../../support/until.ts'

const CLASH = {
  name: 'deploy',
  error: "A task named 'deploy' has not ended yet.",
  hint: expect.stringContaining('another name'),
}

function project(prompt = ''): string {
  return makeProject({
    'forge/.keep': '',
    'prompt.md': prompt,
    worker: sh('echo "$1"'),
    sleeper: sh('touch up; exec sleep 60'),
  })
}

function push(cwd: string, ...words: string[]) {
  return forkhestra(['push', 'agent=./worker', ...words], { cwd })
}

async function statesIn(cwd: string): Promise<string[]> {
  return (await tasksOf(cwd)).map(({ name, state }) => `${name} ${state}`)
}

const AFTER_B = [
  'y',
  '/push name=deploy agent=./worker "deploy b"',
  '/push name=report agent=./worker "report b"',
].join('\n')

test('only refused follow-up tasks are left out, and the parent is notified', async () => {
  const cwd = project()
  await push(cwd, 'name=deploy', 'deploy a')
  await push(cwd, 'name=b', AFTER_B)
  await forkhestra(['cancel', 'deploy'], { cwd })
  await push(cwd, 'name=deploy', 'deploy a')
  const { code, stderr } = await forkhestra(['run-queue', '1'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(
    "Warning: after task b: deploy was not queued: A task named 'deploy' has not ended yet.",
  )
  expect(await statesIn(cwd)).toContain('report queued')
  const { stdout } = await forkhestra(['check', '--from', 'b', '--json'], { cwd })
  expect(JSON.parse(stdout)).toMatchObject({
    messages: [{ from: 'b', success: true, output: 'y', not_queued: [CLASH] }],
  })
  expect(await problemsOf(cwd)).toEqual([])
})

test('the result shows what was not queued, why, and what to do', async () => {
  const cwd = project()
  await push(cwd, 'name=b', AFTER_B)
  await push(cwd, 'name=deploy', 'deploy a')
  await forkhestra(['run-queue', '1'], { cwd })
  const { stdout } = await forkhestra(['check', '--from', 'b'], { cwd })
  expect(stdout).toContain("\n[b] Not queued: deploy. A task named 'deploy' has not ended yet. ")
  const shown = await ask<{ tasks: object[] }>(cwd, 'show')
  expect(shown.tasks).toMatchObject([{ name: 'b', notQueued: ['deploy'] }, {}, {}])
  expect((await forkhestra(['show'], { cwd })).stdout).toContain(
    'done, not queued after it: deploy',
  )
})

test('the same for a task that was lost to kill -9', async () => {
  const cwd = project()
  const prompt = ['x', '/push name=deploy on=always a', '/push name=report on=failure b'].join('\n')
  await forkhestra(['push', 'agent=./sleeper', 'name=lost', prompt], { cwd })
  await push(cwd, 'name=deploy', 'mine')
  const running = new Running(['run-queue', '1'], { cwd })
  await fileIn(cwd, 'up')
  running.signal('SIGKILL')
  await running.finished
  const { code, stderr } = await forkhestra(['run-queue', '1', '--kill-orphans'], { cwd })
  expect(`${code} ${stderr}`).toContain('after task lost: deploy was not queued')
  expect(await statesIn(cwd)).toContain('report queued')
  const { stdout } = await forkhestra(['check', '--from', 'lost', '--json'], { cwd })
  expect(JSON.parse(stdout)).toMatchObject({
    messages: [{ from: 'lost', success: false, class: 'lost', not_queued: [CLASH] }],
  })
  expect(await problemsOf(cwd)).toEqual([])
})

test('the result in MCP shows what was not queued', async () => {
  const cwd = project()
  await using agent = await McpClient.start(cwd)
  await agent.call('push', { name: 'b', agent: './worker', prompt: AFTER_B })
  await agent.call('push', { name: 'deploy', agent: './worker', prompt: 'deploy a' })
  await agent.call('run', { count: 1 })
  const { messages } = await agent.ask('receive', { from: ['b'] })
  const hint = expect.stringContaining('forkhestra cancel deploy')
  expect(messages).toMatchObject([{ from: 'b', success: true, not_queued: [{ ...CLASH, hint }] }])
})

const STEP = [
  '/push name=deploy agent=./worker "first"',
  'Work',
  '/push name=deploy agent=./worker "second"',
  '/push name=report agent=./worker "third"',
].join('\n')

const RUN = ['./worker', '--prompt-file', 'prompt.md']

test('after a step, only refused follow-up tasks are left out, and the run does not fully succeed', async () => {
  const cwd = project(STEP)
  const { code, stdout, stderr } = await forkhestra(RUN, { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(
    "Warning: after step 1 (./worker): deploy was not queued: A task named 'deploy' has not ended yet.",
  )
  expect(stdout).toContain('[forkhestra] Pipeline complete (1/1 steps)')
  expect(stderr).toContain(
    'Not queued after step 1: deploy; fix the problem, then run: forkhestra resume ',
  )
  expect(await statesIn(cwd)).toEqual(['deploy queued', 'report queued'])
  expect((await forkhestra(['show'], { cwd })).stdout).toContain('not queued after it: deploy')
})

test('--json reports refused tasks, and resume queues them once it is possible', async () => {
  const cwd = project(STEP)
  const { stdout } = await forkhestra([...RUN, '--json'], { cwd })
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { type: string; phase?: string })
  expect(events.find(({ phase }) => phase === 'teardown')).toMatchObject({
    pushed: ['report'],
    notQueued: [CLASH],
  })
  expect(events.at(-1)).toMatchObject({ type: 'run_ended', ok: false, exitCode: 1 })
  expect((await forkhestra(['resume'], { cwd })).code).toBe(1)
  await forkhestra(['run-queue'], { cwd })
  const resumed = await forkhestra(['resume'], { cwd })
  expect(`${resumed.code} ${resumed.stderr}`).toBe('0 ')
  expect(await statesIn(cwd)).toEqual(['deploy ended', 'report ended', 'deploy queued'])
})

test('a name that is already in use when a step starts is refused with a hint', async () => {
  const cwd = project('/push name=x agent=./worker "one"\nWork')
  const chain = ['./worker -> ./worker', '--prompt-file', 'prompt.md']
  const dry = await forkhestra([...chain, '--dry-run'], { cwd })
  expect(dry.stderr).toContain(
    "step 2, prompt.md:1  The task 'x' will be refused if the one from step 1",
  )
  const { code, stderr } = await forkhestra(chain, { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain(
    'Use another name, or end that task first: forkhestra run-queue, or forkhestra cancel x\n',
  )
  await forkhestra(['run-queue'], { cwd })
  expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
})

test('prompt check warns about a name that the same prompt uses twice', async () => {
  const cwd = project(STEP)
  const { code, stdout } = await forkhestra(['prompt', 'check', 'prompt.md'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain(
    "Warning: prompt.md:3  The task 'deploy' will be refused if the one from prompt.md:1",
  )
})

test('a task whose prompt uses a name that is already in use fails with a hint', async () => {
  const cwd = project()
  await push(cwd, 'name=a', '/push name=x agent=./worker one\nWork')
  await push(cwd, 'name=x', 'mine')
  await forkhestra(['run-queue', '1'], { cwd })
  const { stdout } = await forkhestra(['check', '--json'], { cwd })
  expect(JSON.parse(stdout)).toMatchObject({
    messages: [{ class: 'precondition', error: expect.stringContaining('forkhestra cancel x') }],
  })
})
