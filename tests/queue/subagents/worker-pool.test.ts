import { expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, isAlive, survivors } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import {
  ask,
  makeQueueProject,
  problemsOf,
  runPrompt,
  startPrompt,
  tasksOf,
} from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'
import { fileIn, until } from '../../support/until.ts'

interface Received {
  readonly status: string
  readonly senders: readonly { readonly name: string; readonly status: string }[]
  readonly deadlock?: readonly string[]
  readonly messages: readonly {
    readonly from: string
    readonly success?: boolean
    readonly class?: string
    readonly error?: string
    readonly output?: string
    readonly partial_output?: string
    readonly attempt?: number
  }[]
}

function answersIn(cwd: string, file: string): Received[] {
  const lines = readFileSync(join(cwd, file), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as Received)
}

test('four of twenty tasks run at a time, and every result is delivered', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `t${index}`)
  const work = 'echo + >> log; sleep 0.15; echo - >> log; echo "result of $FORKHESTRA_AGENT_NAME"'
  const cwd = makeQueueProject(
    [
      ...names.map((name) => `/push name=${name} '${work}'`),
      '/run parallel=4',
      `forkhestra receive --json --from ${names.join(',')} > got.json`,
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  const [{ status, messages } = { status: '', messages: [] }] = answersIn(cwd, 'got.json')
  expect(status).toBe('received')
  expect(messages.map(({ from, output }) => [from, output])).toEqual(
    names.map((name) => [name, `result of ${name}`]),
  )
  let atWork = 0
  let most = 0
  for (const sign of readFileSync(join(cwd, 'log'), 'utf8').trim().split('\n')) {
    atWork += sign === '+' ? 1 : -1
    most = Math.max(most, atWork)
  }
  expect(most).toBe(4)
  expect(await problemsOf(cwd)).toEqual([])
})

test('a failure is delivered with its class, its error and its output so far', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=breaks 'echo half; exit 3'",
      "/push name=late timeout=1 'echo begun; sleep 60'",
      "/push name=nobody agent=no-such-agent-anywhere 'true'",
      String.raw`/push name=unread "true\n/run"`,
      '/run',
      'forkhestra receive --json --from breaks,late,nobody,unread > got.json',
    ].join('\n'),
    { gone: sh('true') },
  )
  // A missing agent is an error before the run, but a failed result if an agent queued the task.
  const prompt = readFileSync(join(cwd, 'prompt.md'), 'utf8')
  const lines = prompt
    .split('\n')
    .filter((line) => !/nobody agent|unread/.test(line) || /receive/.test(line))
  lines[lines.indexOf('/run') + 1] = [
    'forkhestra push name=nobody agent=./gone true; rm gone;',
    String.raw`printf 'true\n/run' | forkhestra push --name unread -;`,
    'forkhestra run-queue;',
    lines[lines.indexOf('/run') + 1],
  ].join(' ')
  writeFileSync(join(cwd, 'prompt.md'), lines.join('\n'))
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  const [{ messages } = { messages: [] }] = answersIn(cwd, 'got.json')
  expect(messages).toMatchObject([
    { from: 'breaks', success: false, class: 'fatal', error: 'exit 3', partial_output: 'half' },
    { from: 'late', success: false, class: 'timeout', partial_output: 'begun' },
    { from: 'nobody', success: false, class: 'precondition' },
    { from: 'unread', success: false, class: 'precondition' },
  ])
  expect(messages[3]?.error).toContain('the prompt of task unread:2:1')
  expect(survivors()).toEqual([])
})

test('a cancelled task ends with all its descendants and reports it', async () => {
  const child = 'echo $$ > child.pid; sleep 60'
  const parent = `forkhestra push name=child '${child}'; forkhestra run-queue; echo up > up; sleep 60`
  const cwd = makeQueueProject(
    [
      `/push name=parent ${JSON.stringify(parent)}`,
      '/run',
      [
        'until [ -e up ] && [ -s child.pid ]; do sleep 0.05; done;',
        'forkhestra cancel parent;',
        'forkhestra receive --json --from parent,child > got.json',
      ].join(' '),
    ].join('\n'),
  )
  const { code, stdout } = await runPrompt(cwd)
  expect(code).toBe(0)
  expect(stdout).toContain('Stopping: parent, child')
  const [{ messages } = { messages: [] }] = answersIn(cwd, 'got.json')
  expect(messages).toMatchObject([
    { from: 'parent', class: 'cancelled', error: 'cancelled by main' },
    { from: 'child', class: 'cancelled', error: 'cancelled by main' },
  ])
  expect(isAlive(Number(readFileSync(join(cwd, 'child.pid'), 'utf8')))).toBe(false)
  expect(await problemsOf(cwd)).toEqual([])
})

test('only transient failures are retried, as often as requested', async () => {
  const weak =
    'echo x >> weak; [ $(wc -l < weak) -ge 3 ] || { echo "API Error: 529 overloaded_error"; exit 1; }; echo at last'
  const cwd = makeQueueProject(
    [
      `/push name=weak retry=3 ${JSON.stringify(weak)}`,
      `/push name=broken retry=3 "echo x >> broken; exit 1"`,
      '/run',
      'forkhestra receive --json --from weak,broken > got.json',
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  const [{ messages } = { messages: [] }] = answersIn(cwd, 'got.json')
  expect(messages).toMatchObject([
    { from: 'weak', success: true, output: 'at last', attempt: 3 },
    { from: 'broken', success: false, class: 'fatal', attempt: 1 },
  ])
  const [run] = runsOf(cwd)
  const ended = ofType(journalOf(cwd, run!), 'task_ended').filter(({ task }) => task === 'weak')
  expect(ended.map(({ attempt, again }) => [attempt, again])).toEqual([
    [1, true],
    [2, true],
    [3, undefined],
  ])
})

test('receive does not wait if no message can come', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=never 'true'",
      [
        'forkhestra receive --json > got.json;',
        'forkhestra receive --json --from never,nobody >> got.json;',
        'forkhestra receive --json --from main >> got.json',
      ].join(' '),
    ].join('\n'),
  )
  await runPrompt(cwd)
  expect(answersIn(cwd, 'got.json')).toMatchObject([
    { status: 'nothing_to_wait_for' },
    {
      status: 'nothing_to_wait_for',
      senders: [
        { name: 'never', status: 'idle' },
        { name: 'nobody', status: 'dead' },
      ],
    },
    { status: expect.stringMatching(/deadlock|nothing/) as string },
  ])
})

test('two agents that wait for each other are both notified', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=left 'forkhestra receive --json --from right'",
      "/push name=right 'forkhestra receive --json --from left'",
      '/run',
      'forkhestra receive --json --from left,right > got.json',
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  const [{ messages } = { messages: [] }] = answersIn(cwd, 'got.json')
  const answers = messages.map(({ partial_output: text = '{}' }) => JSON.parse(text) as Received)
  expect(answers.map(({ status }) => status)).toEqual(['deadlock', 'deadlock'])
  expect(answers[0]?.deadlock).toEqual(['left', 'right'])
})

test('agents can send to each other, but not to one that has ended', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=asker 'forkhestra send main question; forkhestra receive --from main'",
      '/run',
      [
        'forkhestra receive --from asker > question;',
        'forkhestra send asker answer;',
        'forkhestra receive --from asker > answer;',
        'forkhestra send asker late 2> late || true',
      ].join(' '),
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  const read = (name: string) => readFileSync(join(cwd, name), 'utf8')
  expect(read('question')).toBe('[asker] question\n')
  expect(read('answer')).toBe('[asker: done]\n> [main] answer\n')
  expect(read('late')).toContain("The agent 'asker' has ended.")
})

test('follow-up tasks of a sub-agent go to its parent', async () => {
  const cwd = makeQueueProject(
    [
      String.raw`/push name=first "echo one\n/push name=second 'echo two'"`,
      '/run',
      'forkhestra receive --from first; forkhestra run-queue; forkhestra receive --from second > got',
    ].join('\n'),
  )
  const { code } = await runPrompt(cwd)
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe('[second: done]\ntwo\n')
})

test('a step waits for its tasks, but cancels those with on_parent_end=cancel', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=slow 'touch slow; until [ -e go ]; do sleep 0.05; done; touch slow-done'",
      "/push name=helper on_parent_end=cancel 'touch helper; sleep 600; touch helper-done'",
      '/run',
      'until [ -e slow ] && [ -e helper ]; do sleep 0.05; done',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  // The agent of the step has ended by then.
  await until(() => running.stderr.includes('Task helper: '))
  writeFileSync(join(cwd, 'go'), '')
  const { code, stdout } = await running.finished
  expect(code).toBe(0)
  expect(existsSync(join(cwd, 'slow-done'))).toBe(true)
  expect(existsSync(join(cwd, 'helper-done'))).toBe(false)
  expect(stdout).toContain('Unread in the inbox: 2 from helper, slow')
  expect((await tasksOf(cwd)).map(({ name, end }) => [name, end?.success])).toEqual([
    ['slow', true],
    ['helper', false],
  ])
})

test('the result of a sub-agent is delivered after its own tasks have ended', async () => {
  const child = 'while kill -0 $(cat parent) 2>/dev/null; do sleep 0.05; done; echo child >> order'
  const parent = `echo $$ > parent; forkhestra push name=child '${child}'; forkhestra run-queue`
  const cwd = makeQueueProject(
    [
      `/push name=parent ${JSON.stringify(parent)}`,
      '/run',
      'forkhestra receive --from parent; echo parent >> order',
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'order'), 'utf8')).toBe('child\nparent\n')
  const ended = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_ended')
  expect(ended.map(({ task }) => task)).toEqual(['child', 'parent'])
})

test('Ctrl-C ends every sub-agent, and a resumed run continues with tasks that were not started', async () => {
  const cwd = makeQueueProject(
    [
      `/push name=a "echo a >> begun; [ -e go ] || sleep 60"`,
      `/push name=b retry=1 "echo b >> begun; [ -e go ] || sleep 60"`,
      '/run',
      '[ -e go ] || sleep 60',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await until(() => existsSync(join(cwd, 'begun')) && readFileSync(join(cwd, 'begun')).length === 4)
  running.signal('SIGINT')
  const { code } = await running.finished
  expect(code).toBe(130)
  expect(survivors()).toEqual([])
  expect((await tasksOf(cwd)).map(({ name, state, end }) => [name, state, end?.class])).toEqual([
    ['a', 'ended', 'lost'],
    ['b', 'ready', undefined],
  ])
  writeFileSync(join(cwd, 'go'), '')
  const resumed = await forkhestra(['resume'], { cwd })
  expect(resumed.code).toBe(0)
  expect(
    (await tasksOf(cwd)).map(({ name, attempt, end }) => [name, attempt, end?.success]),
  ).toEqual([
    ['a', 1, false],
    ['b', 2, true],
  ])
  expect(await problemsOf(cwd)).toEqual([])
})

test('sub-agents have their own events and logs', async () => {
  const cwd = makeQueueProject("/push name=one 'echo words of one'\n/run\nforkhestra receive\n")
  const { code, stdout } = await runPrompt(cwd, '--json')
  expect(code).toBe(0)
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const own = events.filter(({ task }) => task === 'one')
  expect(own.map(({ type }) => type)).toEqual(['task_started', 'output', 'task_ended'])
  expect(own[1]).toMatchObject({ text: 'words of one\n', scope: ['s1', 'task:one', 'a1'] })
  const [run] = runsOf(cwd)
  const log = join(cwd, 'forge/orch/runs', run!, 'tasks/one.1.log')
  expect(readFileSync(log, 'utf8')).toBe('words of one\n')
})

test('the output of sub-agents is shown only with --verbose', async () => {
  const cwd = makeQueueProject("/push name=one 'echo secretly'\n/run\ntrue\n")
  expect((await runPrompt(cwd)).stdout).not.toContain('secretly')
  expect((await runPrompt(cwd, '-v')).stdout).toContain('one | secretly')
})

test('an agent can queue tasks without a command in its prompt', async () => {
  const cwd = makeQueueProject(
    'forkhestra push name=one "echo uno" && forkhestra run-queue && forkhestra receive > got',
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect(readFileSync(join(cwd, 'got'), 'utf8')).toBe('[one: done]\nuno\n')
  await fileIn(cwd, 'got')
  expect(await ask<{ counts: unknown }>(cwd, 'queue')).toMatchObject({ counts: { ended: 1 } })
})

test('parents stop waiting for tasks that cannot get a slot, and the results go to an ancestor', async () => {
  const names = Array.from({ length: 16 }, (_, index) => `p${index}`)
  const parent = [
    'forkhestra push name=child-$FORKHESTRA_AGENT_NAME true > /dev/null;',
    'forkhestra run-queue --parallel 1; until [ -e all ]; do sleep 0.05; done',
  ].join(' ')
  const cwd = makeQueueProject(
    [
      ...names.map((name) => `/push name=${name} ${JSON.stringify(parent)}`),
      '/run',
      [
        'until [ $(forkhestra queue --all --json | grep -o child-p | wc -l) -ge 16 ]; do sleep 0.1; done;',
        `touch all; forkhestra receive --json --from ${names.map((name) => `child-${name}`).join(',')} > got`,
      ].join(' '),
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  const tasks = await tasksOf(cwd)
  expect(tasks).toHaveLength(32)
  expect(tasks.filter(({ end }) => end?.success !== true)).toEqual([])
  expect(await problemsOf(cwd)).toEqual([])
})

test('forkhestra stop lets sub-agents finish and starts no others', async () => {
  const cwd = makeQueueProject(
    [
      "/push name=first 'touch up; until [ -e go ]; do sleep 0.05; done; echo done'",
      "/push name=second 'true'",
      '/run parallel=1',
      'until [ -e up ]; do sleep 0.05; done; forkhestra stop; touch asked',
    ].join('\n'),
  )
  const running = startPrompt(cwd)
  await fileIn(cwd, 'up')
  await fileIn(cwd, 'asked')
  writeFileSync(join(cwd, 'go'), '')
  await running.finished
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['first', 'ended'],
    ['second', 'ready'],
  ])
})

test('a task that is cancelled right after another one is also notified at once', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `t${index}`)
  const cwd = makeQueueProject(
    [
      ...names.map((name) => `/push name=${name} 'touch ${name}; sleep 60'`),
      '/run',
      [
        `until ${names.map((name) => `[ -e ${name} ]`).join(' && ')}; do sleep 0.05; done;`,
        ...names.map((name) => `forkhestra cancel ${name};`),
        `forkhestra receive --timeout 8 --from ${names.join(',')} > got`,
      ].join(' '),
    ].join('\n'),
  )
  expect((await runPrompt(cwd)).code).toBe(0)
  expect((await tasksOf(cwd)).map(({ end }) => end?.class)).toEqual(names.map(() => 'cancelled'))
})
