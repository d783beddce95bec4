import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, runChain, type Ran } from '../../support/chains.ts'
import { forkhestra } from '../../support/forkhestra.ts'
import { sh } from '../../support/project.ts'
import { ask, problemsOf } from '../../support/queue.ts'
import { ofType } from '../../support/record.ts'

/** Runs its prompt as a script. */
const AGENTS = { agent: sh('eval "$1"'), other: sh('eval "$1"') }

/** Runs the items as a chain, and checks that nothing was lost. */
async function run(items: readonly object[], more: object = {}): Promise<Ran & { cwd: string }> {
  const cwd = makeChain(items, AGENTS, more)
  const ran = await runChain(cwd)
  expect(await problemsOf(cwd)).toEqual([])
  return { ...ran, cwd }
}

const read = (cwd: string, name: string) => readFileSync(join(cwd, name), 'utf8')

/** Each agent does its own part of the script. */
const each = (parts: Readonly<Record<string, string>>) =>
  [
    'case "$FORKHESTRA_AGENT_NAME" in',
    ...Object.entries(parts).map(([name, part]) => `'${name}') ${part};;`),
    'esac',
  ].join('\n')

interface TaskJson {
  readonly name: string
  readonly parent: string
  readonly attempt: number
  readonly state: string
  readonly end: { readonly class?: string } | null
}

async function tasksIn(cwd: string): Promise<TaskJson[]> {
  return (await ask<{ tasks: TaskJson[] }>(cwd, 'queue', '--all')).tasks
}

const copies = (count: number, prompt: string, more: object = {}) => ({
  agent: './agent',
  copies: count,
  prompt,
  ...more,
})

test('copies send to each other and wait for each other by name, without any task', async () => {
  const prompt = each({
    'agent#1':
      'forkhestra receive --from "agent#3" > got-1; forkhestra send agent#2 "one, $(cat got-1)"',
    'agent#2': 'forkhestra receive --from agent#1 > got-2',
    'agent#3': 'forkhestra send "agent#1" three',
  })
  const { code, cwd } = await run([copies(3, prompt)])
  expect(code).toBe(0)
  expect(read(cwd, 'got-1')).toBe('[agent#3] three\n')
  expect(read(cwd, 'got-2')).toBe('[agent#1] one, [agent#3] three\n')
})

test('each step of a branch acts under a name of its own, other steps are main', async () => {
  const say = 'echo "$FORKHESTRA_STEP $FORKHESTRA_AGENT_NAME $FORKHESTRA_SCOPE" >> names'
  const pair = { agent: './agent', prompt: say }
  const { code, cwd } = await run([
    { ...pair },
    {
      sequence: [
        { ...pair, name: 'build it' },
        { ...pair, agent: './other' },
      ],
      copies: 2,
    },
    {
      parallel: [
        { ...pair, name: 'main' },
        { ...pair, name: 'docs' },
      ],
    },
  ])
  expect(code).toBe(0)
  expect(read(cwd, 'names').trimEnd().split('\n').toSorted()).toEqual([
    '1 main ',
    '2 build-it#1 g1/c1/s2/i1',
    '2 build-it#2 g1/c2/s2/i1',
    '3 other#1 g1/c1/s3/i1',
    '3 other#2 g1/c2/s3/i1',
    '4 main.2 g2/s4/i1',
    '5 docs g2/s5/i1',
  ])
})

test('a branch ends after its own tasks, and leaves those of others alone', async () => {
  const long = (name: string) =>
    `/push name=${name} on_parent_end=cancel "until [ -e over ]; do sleep 0.05; done; echo done"`
  const { code, cwd, events } = await run([
    {
      parallel: [
        {
          agent: './agent',
          name: 'slow',
          prompt: `${long('kept')}\n/run\nforkhestra receive --from kept > got`,
        },
        {
          agent: './agent',
          name: 'quick',
          prompt: `${long('ended')}\n/push name=own "echo own"\n/run\nforkhestra receive --from own`,
          hooks: { afterStep: 'touch over' },
        },
      ],
    },
  ])
  expect(code).toBe(0)
  expect(read(cwd, 'got')).toBe('[kept: done]\ndone\n')
  const ends = events.flatMap((event) => {
    if (event.type === 'task_ended') return [`${event.task} ${event.class ?? 'done'}`]
    return event.type === 'step_ended' ? [`step ${event.step}`] : []
  })
  expect(ends).toEqual(['own done', 'ended cancelled', 'step 2', 'kept done', 'step 1'])
  const scopes = ofType(events, 'task_ended').map(({ scope }) => scope.join('/'))
  expect(scopes).toEqual(['g1/s2/task:own/a1', 'g1/s2/task:ended/a1', 'g1/s1/task:kept/a1'])
})

test('setup and teardown of a prompt run once per copy and round', async () => {
  const prompt = '/push "echo before"\n/run\nforkhestra receive\n/push "echo after"'
  const review =
    'touch "round-$FORKHESTRA_ITERATION"; [ -e again ] && echo ORCHESTRA_COMPLETE; touch again'
  const { code, cwd, events } = await run([
    {
      sequence: [copies(2, prompt), { agent: './agent', iterations: 1, prompt: review }],
      iterations: 3,
    },
  ])
  expect(code).toBe(0)
  const tasks = await ask<{ tasks: { parent: string; prompt: string; state: string }[] }>(
    cwd,
    'queue',
    '--all',
  )
  const told = tasks.tasks.map(({ parent, prompt: text, state }) => `${parent}: ${text} ${state}`)
  expect(told.toSorted()).toEqual(
    ['agent.1#1', 'agent.1#2'].flatMap((name) => [
      // The second round has started what was left of the first one.
      `${name}: echo after ended`,
      `${name}: echo after queued`,
      ...Array.from({ length: 2 }, () => `${name}: echo before ended`),
    ]),
  )
  const phases = ofType(events, 'phase_ended').map(
    ({ scope, phase, pushed }) => `${scope.join('/')} ${phase} ${pushed.length}`,
  )
  expect(phases.toSorted()).toEqual(
    ['g1/r2/s1/c1', 'g1/r2/s1/c2', 'g1/s1/c1', 'g1/s1/c2'].flatMap((scope) => [
      `${scope} setup 1`,
      `${scope} teardown 1`,
    ]),
  )
})

test('agents of branches that wait for each other are in a deadlock', async () => {
  const wait = (other: number) =>
    `touch up-${other}; until [ -e up-1 ] && [ -e up-2 ]; do sleep 0.05; done; forkhestra receive --from agent#${other} --json > "got-${other}"`
  const { code, cwd } = await run([copies(2, each({ 'agent#1': wait(2), 'agent#2': wait(1) }))])
  expect(code).toBe(1)
  for (const other of [1, 2]) {
    expect(JSON.parse(read(cwd, `got-${other}`))).toMatchObject({
      status: 'deadlock',
      deadlock: ['agent#1', 'agent#2'],
    })
  }
})

test('no agent waits for one that has no slot', async () => {
  const prompt = each({
    'agent#1': 'forkhestra receive --from agent#2 --json > got; exit 0',
    'agent#2': 'forkhestra check > late',
  })
  const { code, cwd } = await run([copies(2, prompt)], { maxParallel: 1 })
  expect(code).toBe(0)
  expect(JSON.parse(read(cwd, 'got'))).toMatchObject({
    status: 'nothing_to_wait_for',
    senders: [{ name: 'agent#2', status: 'idle' }],
  })
})

test('a message waits for an agent that has not started, and for main', async () => {
  const tell =
    'forkhestra send docs "read this"; forkhestra send main "and you"; forkhestra send nobody x; echo $? > code'
  const { code, cwd } = await run([
    {
      parallel: [
        { sequence: [{ agent: './agent', name: 'lint', prompt: tell }] },
        {
          sequence: [
            { agent: './agent', name: 'first', prompt: 'until [ -e code ]; do sleep 0.05; done' },
            { agent: './agent', name: 'docs', prompt: 'forkhestra check > docs-got' },
          ],
        },
      ],
    },
    { agent: './agent', prompt: 'forkhestra check > main-got' },
  ])
  expect(code).toBe(0)
  expect(read(cwd, 'docs-got')).toBe('[lint] read this\n')
  expect(read(cwd, 'main-got')).toBe('[lint] and you\n')
  expect(read(cwd, 'code')).toBe('2\n')
})

test('tasks cannot have the name of an agent, and agents cannot be cancelled', async () => {
  const { code, cwd } = await run([
    {
      parallel: [
        { agent: './agent', name: 'lint', prompt: 'forkhestra push name=docs x 2> push; true' },
        { agent: './agent', name: 'docs', prompt: 'forkhestra cancel lint 2> cancel; true' },
      ],
    },
  ])
  expect(code).toBe(0)
  expect(read(cwd, 'push')).toContain("'docs' is the name of an agent of this run.")
  expect(read(cwd, 'cancel')).toContain("'lint' is not a task and cannot be cancelled.")
})

test('afterwards a person acts for all agents of branches', async () => {
  const prompt = each({
    'agent#1': 'forkhestra push name=a "echo A"; forkhestra send agent#2 hello; touch pushed',
    'agent#2': 'until [ -e pushed ]; do sleep 0.05; done; forkhestra push name=b "echo B"',
  })
  const { code, cwd, stdout } = await run([copies(2, prompt)])
  expect(code).toBe(0)
  expect(stdout).toContain('Left in the queue: a, b; to start: forkhestra run-queue')
  const says = async (...words: string[]) => (await forkhestra(words, { cwd })).stdout
  expect((await says('queue')).replaceAll(/\d+(\.\d+)? s +/g, 'T  ')).toBe(
    [
      'a  queued  T  for agent#1  echo A',
      'b  queued  T  for agent#2  echo B',
      '2 queued, 0 ready, 0 running, 0 ended; capacity left: 16 running, 9998 queued',
      '',
    ].join('\n'),
  )
  expect(await says('run-queue')).toContain('Started: a, b\n')
  const tasks = await tasksIn(cwd)
  expect(tasks.map(({ name, parent, state }) => [name, parent, state])).toEqual([
    ['a', 'agent#1', 'ended'],
    ['b', 'agent#2', 'ended'],
  ])
  const inbox = await ask<{ messages: { from: string; to?: string }[] }>(cwd, 'inbox')
  expect(inbox.messages.map(({ from, to }) => `${from} to ${to}`).toSorted()).toEqual([
    'a to agent#1',
    'agent#1 to agent#2',
    'b to agent#2',
  ])
  expect(await says('check', '--max', '2')).toContain('[a: done]\nA\n')
  expect(await says('check')).toBe('[b: done]\nB\n')
  expect(await problemsOf(cwd)).toEqual([])
})

test('a cancelled branch cancels its tasks', async () => {
  const cwd = makeChain(
    [
      {
        parallel: [
          { agent: './agent', name: 'bad', prompt: 'until [ -e up ]; do sleep 0.05; done; exit 3' },
          {
            agent: './agent',
            name: 'busy',
            prompt: '/push name=long "touch up; exec sleep 60"\n/run\nexec sleep 60',
          },
        ],
        failFast: true,
      },
    ],
    AGENTS,
  )
  const { code, events } = await runChain(cwd)
  expect(code).toBe(1)
  const [end] = ofType(events, 'task_ended')
  expect(end).toMatchObject({ task: 'long', class: 'cancelled', error: 'its parent busy ended' })
  expect(readdirSync(cwd)).toContain('up')
})
