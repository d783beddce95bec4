import { expect, test } from 'bun:test'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withQueueClient } from '../../../src/host/queue/caller.ts'
import { openProject } from '../../../src/host/project.ts'
import { environment, forkhestra, shell } from '../../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../../support/project.ts'
import { ask, makeQueueProject, startPrompt, tasksOf } from '../../support/queue.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn } from '../../support/until.ts'

function makeWorkerProject(): string {
  return makeProject({ 'forge/.keep': '', worker: sh('echo "worked: $1"') })
}

test('concurrent first pushes of a project open one run', async () => {
  const cwd = makeWorkerProject()
  for (let round = 0; round < 5; round++) {
    const names = Array.from({ length: 12 }, (_, number) => `n${number}`)
    const pushes = names.map((name) =>
      forkhestra(['push', 'agent=./worker', '--name', name, 'hi'], { cwd }),
    )
    for (const { code, stderr } of await Promise.all(pushes))
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(runsOf(cwd)).toHaveLength(1)
    expect(await tasksOf(cwd)).toHaveLength(12)
    rmSync(join(cwd, 'forge/orch'), { recursive: true })
  }
})

test('clean does not remove a run while its first task is being pushed', async () => {
  const cwd = makeWorkerProject()
  const env = environment({ cwd })
  const frontEnd = {
    env,
    project: openProject(cwd, env),
    cwdOption: '',
    notice: () => undefined,
    confirm: async () => false,
  }
  await withQueueClient({ frontEnd }, 'create-run', async ({ client, run }) => {
    const { code, stdout } = await forkhestra(['clean', '--keep', '0'], { cwd })
    expect(code).toBe(1)
    expect(stdout).toContain(`not removed: ${run}: Another process has held the lock`)
    await client.push([{ prompt: 'hi', name: 'a' }])
  })
  expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['a'])
})

test('pushes and cleans at the same time lose no task', async () => {
  for (let round = 0; round < 6; round++) {
    const cwd = makeWorkerProject()
    const cleans = [1, 2, 3].map(() => forkhestra(['clean', '--keep', '0'], { cwd }))
    const push = await forkhestra(['push', 'agent=./worker', '--name', 'a', 'hi'], { cwd })
    expect(push).toEqual({ code: 0, stdout: 'a\n', stderr: '' })
    for (const { code, stdout } of await Promise.all(cleans))
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: expect.not.stringContaining('not removed'),
      })
    expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['a'])
  }
})

test.each([
  [['check', 'a'], /Unexpected argument 'a'\.\n.*--from a/],
  [['receive', 'a'], /Unexpected argument 'a'\.\n.*--from a/],
  [['check', 'form=a'], /Unknown option 'form' \(did you mean 'from'\?\)/],
  [['receive', 'timout=3'], /Unknown option 'timout' \(did you mean 'timeout'\?\)/],
  [['check', 'timeout=3'], /'timeout' is an option of push and receive/],
  [['receive', 'retry=3'], /'retry' is an option of push/],
  [['check', 'from=a b'], /Unexpected argument 'from=a b'/],
  [['queue', 'verfy'], /Unexpected argument 'verfy' \(did you mean 'verify'\?\)/],
  [['check', '--from', ','], /from is empty\.\n.*--from a,b/],
])('%j is refused without reading stdin', async (words, expected) => {
  const cwd = makeWorkerProject()
  await shell('forkhestra push agent=./worker name=a hi && forkhestra run-queue', cwd)
  const { code, stdout, stderr } = await forkhestra(words, { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(expected)
  expect((await ask<{ messages: unknown[] }>(cwd, 'inbox')).messages).toHaveLength(1)
})

test.each([
  [['agnet=./worker', 'Do it'], /Unknown option 'agnet' \(did you mean 'agent'\?\)\n.*--/],
  [['Agent=./worker', 'Do it'], /Unknown option 'Agent' \(did you mean 'agent'\?\)/],
  [['on-parent-end=wait', 'Do it'], /did you mean 'on_parent_end'\?/],
  [['cwd=..', 'Do it'], /Unknown option 'cwd' \(did you mean --cwd\?\)/],
  [
    ['on=always', 'Do it'],
    /'on' is an option of \/push after the content of a prompt\.\n.*\/push on=always … .*-- "on=always"/,
  ],
  [['name=a', 'on=failure', 'Do it'], /'on' is an option of \/push after the content of a prompt/],
  [['parallel=2', 'Do it'], /'parallel' is an option of run-queue\.\n.*-- "parallel=2"/],
  [['timeout=5'], /The prompt of the task is missing\.\n.*--/],
  [['timeout=5 is too short', 'raise it'], /timeout/],
])('push %j is refused', async (words, expected) => {
  const cwd = makeWorkerProject()
  const { code, stdout, stderr } = await forkhestra(['push', ...words], { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(expected)
  expect(runsOf(cwd)).toEqual([])
})

test.each([
  [['timeout=5 is too short, raise it'], 'timeout=5 is too short, raise it', null],
  [['--', 'timeout=5'], 'timeout=5', null],
  [['on=always is a lie'], 'on=always is a lie', null],
  [['--', 'on=always', 'x'], 'on=always x', null],
  [['x=5', 'is', 'too', 'much'], 'x=5 is too much', null],
  [['agent=./my worker', 'Do it'], 'Do it', './my worker'],
])('push %j has the prompt %j', async (words, prompt, agent) => {
  const cwd = makeWorkerProject()
  writeFiles(cwd, { 'my worker': sh('exit 0') })
  expect((await forkhestra(['push', ...words], { cwd })).code).toBe(0)
  const { tasks } = await ask<{ tasks: { prompt: string; agent?: string }[] }>(cwd, 'queue')
  expect(tasks.map((task) => [task.prompt, task.agent ?? null])).toEqual([[prompt, agent]])
})

test.each([
  [['--name', 'a b'], /^\[forkhestra\] Error: "a b" is not a valid task name\.\n/],
  [['--retry', 'x'], /^\[forkhestra\] Error: retry is "x", expected a whole number/],
  [['--isolation', 'x'], /^\[forkhestra\] Error: isolation is "x", expected shared or worktree/],
])('push %j explains the mistake in terms of the command line', async (words, expected) => {
  const cwd = makeWorkerProject()
  const { code, stderr } = await forkhestra(['push', ...words, 'Do it'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toMatch(expected)
  expect(stderr).not.toContain('/push')
})

test.each([
  ['recieve', 'receive'],
  ['pus', 'push'],
  ['runqueue', 'run-queue'],
  ['chek', 'check'],
  ['reusme', 'resume'],
])('%s is not an agent, and the hint suggests the command %s', async (word, command) => {
  const cwd = makeWorkerProject()
  const { code, stderr } = await forkhestra([word], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(`Agent not found: ${word} (did you mean the command '${command}'?)\n`)
})

test.each([
  [['recieve', '--from', 'a'], 'receive'],
  [['runqueue', '3'], 'run-queue'],
  [['pus', '--name', 'a', 'hi'], 'push'],
])('for %j the hint suggests the command %s', async (words, command) => {
  const { code, stderr } = await forkhestra(words, { cwd: makeWorkerProject() })
  expect(code).toBe(2)
  expect(stderr).toContain(
    `'${words[0]}' is not a command. Did you mean: forkhestra ${[command, ...words.slice(1)].join(' ')}\n`,
  )
})

test('a message to main is delivered even if nothing was ever queued', async () => {
  const cwd = makeQueueProject(
    'touch up; until [ -e go ]; do sleep 0.05; done; forkhestra receive > got\n',
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  const sent = await forkhestra(['send', 'main', 'hello'], { cwd })
  writeFileSync(join(cwd, 'go'), '')
  expect(sent).toEqual({ code: 0, stdout: '', stderr: '' })
  expect((await running.finished).code).toBe(0)
  expect(await Bun.file(join(cwd, 'got')).text()).toBe('[main] hello\n')
})

test.each([[['send', 'main', 'hello']], [['cancel', 'one']]])(
  'without a run, %j reports it and creates none',
  async (words) => {
    const cwd = makeWorkerProject()
    const { code, stderr } = await forkhestra(words, { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('There are no runs yet')
    expect(existsSync(join(cwd, 'forge/orch'))).toBe(false)
  },
)

test('JSON output has the same keys without a run and without a queue', async () => {
  const empty = makeWorkerProject()
  const none = { ok: true, run: null, agent: null }
  expect(await ask<object>(empty, 'queue')).toEqual({ ...none, tasks: [], counts: null })
  expect(await ask<object>(empty, 'inbox')).toEqual({ ...none, messages: [] })
  const nothing = { started: [], held: 0, unfinished: [] }
  expect(await ask<object>(empty, 'run-queue')).toEqual({ ...none, ...nothing })
  expect(await ask<object>(empty, 'queue', 'verify')).toEqual({ ok: true, run: null, problems: [] })
  const cwd = makeQueueProject('true\n')
  await startPrompt(cwd).finished
  const [run] = runsOf(cwd)
  const asked = await ask<object>(cwd, 'queue')
  expect(asked).toEqual({ ok: true, run, agent: 'main', tasks: [], counts: null })
})

test('the parent of a task is shown by name', async () => {
  const cwd = makeQueueProject(
    'forkhestra push name=top "forkhestra push name=low true; true"; forkhestra run-queue\n',
  )
  await startPrompt(cwd).finished
  const { tasks } = await ask<{ tasks: { name: string; parent: string }[] }>(cwd, 'queue', '--all')
  expect(tasks.map(({ name, parent }) => [name, parent])).toEqual([
    ['top', 'main'],
    ['low', 'top'],
  ])
})
