import { expect, test } from 'bun:test'
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { FORGE_TASKS, ON_READ_ONLY_DISK, TaskProject } from '../support/forge-tasks.ts'
import { environment, isAlive } from '../support/forkhestra.ts'

interface Options {
  readonly args?: readonly string[]
  readonly program?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly client?: string
  /** The protocol version; older ones begin with `initialize`. */
  readonly era?: 'legacy' | { readonly pin: string }
}

/** The real server, through an MCP client. */
class Agent {
  readonly #transport: StdioClientTransport
  readonly client: Client

  private constructor(project: TaskProject, options: Options) {
    const { args = [], env = {}, client, era, program = [FORGE_TASKS] } = options
    const [command = '', ...more] = program
    this.#transport = new StdioClientTransport({
      command,
      args: [...more, 'mcp', ...args],
      cwd: project.root,
      env: environment({ cwd: project.root, env: { USER: 'me', ...env } }),
    })
    this.client = new Client(
      { name: client ?? 'agent', version: '1' },
      { versionNegotiation: { mode: era ?? 'legacy' } },
    )
  }

  static async start(project: TaskProject, options: Options = {}): Promise<Agent> {
    const agent = new Agent(project, options)
    await agent.client.connect(agent.#transport)
    return agent
  }

  get pid(): number {
    return this.#transport.pid!
  }

  async call(name: string, input: Record<string, unknown> = {}): Promise<string> {
    const { isError, content } = await this.client.callTool({ name, arguments: input })
    const [first] = content
    const text = first?.type === 'text' ? first.text : `no text: ${JSON.stringify(content)}`
    return isError === true ? `REFUSED ${text}` : text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this
    await this.client.close()
    while (isAlive(pid)) await Bun.sleep(5)
  }
}

const steady = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d(T[\d:.]+Z| \d\d:\d\d)/g, '<time>')

test('agents can create, claim and finish tasks with the tools alone', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project, { args: ['--as', 'bob'] })
  const tasks = [
    { title: 'Write docs', dependsOn: ['@code'], priority: 'high' },
    { key: 'code', title: 'Write code', description: 'Why: ü', ac: ['It runs'], labels: ['core'] },
  ]
  expect(await agent.call('create', { tasks })).toBe('TASK-001\nTASK-002')
  expect(await agent.call('list')).toBe(
    'TASK-001 | To Do | high | Write docs\nTASK-002 | To Do | - | Write code',
  )
  expect(await agent.call('list', { ready: true })).toBe('TASK-002 | To Do | - | Write code')
  expect(await agent.call('next')).toStartWith('id: TASK-002\ntitle: Write code\nstatus: To Do\n')
  expect(steady(await agent.call('next', { claim: true }))).toBe(
    `id: TASK-002
title: Write code
status: In Progress
assignee: bob
labels: core
blocks: TASK-001
created: <time>
claimed: bob since <time>, until <time>
changed: <time>
file: TASK-002 - Write code.md

## Description

Why: ü

## Acceptance Criteria

- [ ] #1 It runs`,
  )
  expect(await agent.call('edit', { ids: ['2'], status: 'done' })).toBe(
    `REFUSED TASK-002 has open acceptance criteria:
  #1 It runs
Check them off with checkAc, or override with force: true.`,
  )
  const finish = { ids: ['task-2'], checkAc: [1], status: 'done', appendNotes: 'See src/a.ts' }
  expect(await agent.call('edit', finish)).toBe('TASK-002 | Done | - | Write code')
  expect(await agent.call('next')).toContain('## Notes of TASK-002\n\nSee src/a.ts')
})

test('a task with open dependencies becomes done only with force', async () => {
  await using agent = await Agent.start(new TaskProject())
  const tasks = [{ title: 'One' }, { title: 'Two', dependsOn: ['1'] }]
  for (const task of tasks) await agent.call('create', { tasks: [task] })
  expect(await agent.call('edit', { ids: ['2'], status: 'done' })).toBe(
    `REFUSED TASK-002 depends on tasks that are not done:
  TASK-001 (To Do)
Finish them first, remove them with removeDeps, or override with force: true.`,
  )
  expect(await agent.call('edit', { ids: ['2'], status: 'done', force: true })).toContain('Done')
})

test('archive with undo moves tasks back', async () => {
  await using agent = await Agent.start(new TaskProject())
  await agent.call('create', { tasks: [{ title: 'One', status: 'done' }] })
  await agent.call('archive', { done: true })
  expect(await agent.call('list', { archived: true })).toBe('TASK-001 | Done | - | One')
  expect(await agent.call('archive', { ids: ['1'], undo: true })).toBe('Unarchived TASK-001')
  expect(await agent.call('list')).toBe('TASK-001 | Done | - | One')
})

test('tools answer what the command line prints', async () => {
  const project = new TaskProject()
  await project.must('create', 'One', '--ac', 'a', '-p', 'low', '-d', 'words', '--plan', 'p')
  await project.must('create', 'Two', '--depends-on', '1')
  await using agent = await Agent.start(project)
  const same = [
    ['list', {}, ['list', '--plain']],
    ['list', { ready: true }, ['list', '--ready', '--plain']],
    ['list', { explain: true }, ['list', '--ready', '--explain']],
    ['list', { search: 'WORDS one' }, ['search', 'words', 'one', '--plain']],
    ['list', { blockedBy: '1' }, ['list', '--blocked-by', '1', '--plain']],
    [
      'list',
      { status: ['todo'], priority: 'none' },
      ['list', '-s', 'todo', '-p', 'none', '--plain'],
    ],
    ['view', { id: '1' }, ['view', '1', '--plain']],
    ['next', {}, ['next', '--plain']],
  ] as const
  for (const [name, input, command] of same) {
    expect(`${steady(await agent.call(name, input))}\n`).toBe(await project.must(...command))
  }
  const stats = await project.must('stats')
  expect(await agent.call('doctor')).toBe(`${stats}\nNo problems found.`)
})

test('edit can do everything that the command line can', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  const tasks = ['a', 'b', 'c'].map((title) => ({ title, labels: ['old'], ac: ['1', '2', '3'] }))
  await agent.call('create', { tasks })
  const changes = {
    title: ' A new\n title ',
    description: 'Why',
    priority: 'HIGH',
    assignee: 'ann',
    labels: ['new'],
    removeLabels: ['old'],
    dependsOn: ['3'],
    ac: ['4'],
    checkAc: [1],
    removeAc: [2],
    plan: 'How',
    notes: 'Noted',
    due: '2030-01-01',
    parent: '3',
  }
  expect(await agent.call('edit', { ids: ['1', '2'], ...changes })).toBe(
    'TASK-001 | To Do | high | A new title\nTASK-002 | To Do | high | A new title',
  )
  expect(steady(await agent.call('view', { id: '2' }))).toBe(
    `id: TASK-002
title: A new title
status: To Do
priority: high
assignee: ann
labels: new
dependencies: TASK-003 (To Do)
parent: TASK-003
due: 2030-01-01
created: <time>
changed: <time>
file: TASK-002 - b.md

## Description

Why

## Acceptance Criteria

- [x] #1 1
- [ ] #3 3
- [ ] #4 4

## Implementation Plan

How

## Implementation Notes

Noted`,
  )
  const undo = { priority: 'none', assignee: '', due: '', parent: '', removeDeps: ['3'] }
  const forced = { uncheckAc: [1], status: 'Done', force: true }
  expect(await agent.call('edit', { ids: ['2'], ...undo, ...forced })).toBe(
    'TASK-002 | Done | - | A new title',
  )
  const after = await agent.call('view', { id: '2' })
  expect(after).not.toMatch(/^(priority|assignee|due|parent|dependencies):/m)
  expect(after).toContain('Marked done with open criteria: #1 1; #3 3; #4 4')
})

test('a mistake is answered with its hint and changes nothing', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  await agent.call('create', {
    tasks: [
      { title: 'A', key: 'a' },
      { title: 'B', dependsOn: ['@a'] },
      { title: 'C', ac: ['x'] },
    ],
  })
  const open = 'TASK-003 has open acceptance criteria:\n  #1 x\n'
  const hint = 'Check them off with checkAc, or override with force: true.'
  const refused = [
    ['view', { id: '7' }, 'No task TASK-007.\nSimilar ids:\n  TASK-003  C\n  TASK-002  B'],
    ['view', { id: '../x' }, "'../x' is not a task id.\nUse an id such as TASK-001 or 1."],
    ['claim', { id: '2' }, 'TASK-002 is not ready: it waits for TASK-001 (To Do).\n'],
    ['claim', { id: '1', lease: 'long' }, "lease is 'long', expected a duration.\n"],
    ['edit', { ids: ['1', '9'], title: 'X' }, 'No task TASK-009.'],
    ['edit', { ids: ['1'], dependsOn: ['2'] }, 'TASK-001 would depend on itself: '],
    ['edit', { ids: ['1'], status: 'don' }, "Unknown status 'don' (did you mean 'done'?)"],
    ['edit', { ids: ['1'], checkAc: [1.5] }, 'TASK-001: No acceptance criterion #1.5.'],
    ['create', { tasks: [{ title: 'C' }, { title: ' ' }] }, 'The title is empty.'],
    ['create', { tasks: [{ title: 'C', labels: [''] }] }, 'A label is empty.'],
    ['create', { tasks: [{ title: 'C', due: '12/13' }] }, "'12/13' is not a date."],
    ['edit', { ids: ['1'], labels: [''] }, 'A label is empty.'],
    ['edit', { ids: ['1'], due: '2026-02-30' }, "'2026-02-30' is not a date."],
    ['create', { tasks: [{ title: 'C', dependsOn: ['@d'] }] }, 'No task of this batch has'],
    ['archive', {}, 'No tasks selected.\nPass either ids or done: true.'],
    ['archive', { ids: ['1', '2'], delete: true }, 'Only one task can be deleted at a time.'],
    ['archive', { ids: ['1'], delete: true }, 'TASK-002 depends on TASK-001.\n'],
    ['edit', { ids: ['3'], status: 'done' }, `${open}${hint}`],
  ] as const
  for (const [name, input, message] of refused) {
    expect(await agent.call(name, input)).toStartWith(`REFUSED ${message}`)
  }
  expect(await agent.call('list')).toBe(
    'TASK-001 | To Do | - | A\nTASK-002 | To Do | - | B\nTASK-003 | To Do | - | C',
  )
})

test('errors name unknown arguments and wrong types', async () => {
  await using agent = await Agent.start(new TaskProject())
  const refused = [
    ['edit', { ids: ['1'], statu: 'done' }, 'Unrecognized key: "statu"'],
    ['edit', { ids: 1 }, 'ids: Invalid input: expected array, received number'],
    ['edit', {}, 'ids: Invalid input: expected array, received undefined'],
    ['edit', { ids: [] }, 'ids: must not be empty'],
    ['edit', { ids: ['1'], title: ' ' }, 'The title is empty.'],
    ['list', { limit: -1 }, 'limit: must not be negative'],
    ['create', { tasks: [] }, 'tasks: must not be empty'],
    ['create', { tasks: [{ title: 'A', ac: 'x' }] }, 'tasks.0.ac: Invalid input: expected array'],
    ['create', { tasks: [{ title: 'A', acs: [] }] }, 'tasks.0: Unrecognized key: "acs"'],
    ['next', { claim: 'yes' }, 'claim: Invalid input: expected boolean, received string'],
  ] as const
  for (const [name, input, message] of refused) {
    const text = await agent.call(name, input)
    expect([text.startsWith('REFUSED '), text.includes(message), text]).toEqual([true, true, text])
  }
  expect(agent.client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('nothing')
  expect(await agent.call('list')).toBe('No tasks.')
})

test('next says why nothing is ready', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  expect(await agent.call('next', { claim: true })).toBe('No open tasks.')
  await project.must('create', 'A', '--status', 'blocked')
  await project.must('create', 'B', '--depends-on', '1')
  expect(await agent.call('next', { claim: true })).toBe(
    `No task is ready:
  TASK-001: status is Blocked
  TASK-002: waits for TASK-001 (Blocked)
Read its notes: the tool view TASK-001; reopen it: the tool edit TASK-001 status todo`,
  )
})

test('long answers are cut and say how much is left out', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  const tasks = Array.from({ length: 103 }, (_, index) => ({
    title: `Task ${index + 1}`,
    status: 'blocked',
  }))
  await agent.call('create', { tasks })
  const listed = (await agent.call('list')).split('\n')
  expect(listed.length).toBe(101)
  expect(listed.at(-1)).toBe('… and 3 more; filter, or raise the limit')
  expect((await agent.call('list', { limit: 200 })).split('\n').length).toBe(103)
  const waiting = (await agent.call('next')).split('\n')
  expect(waiting.length).toBe(23)
  expect(waiting.at(-2)).toBe('… and 83 more; see list with explain')
})

test.each(['legacy', { pin: '2026-07-28' }] as const)(
  'a claim belongs to the client by its name, in the protocol %p',
  async (era) => {
    const project = new TaskProject()
    await project.must('create', 'A')
    await using ann = await Agent.start(project, { client: 'ann', era })
    await using bob = await Agent.start(project, { client: 'bob', era })
    expect(await ann.call('claim', { id: '1' })).toContain('\nassignee: ann\n')
    expect(await ann.call('claim', { id: '1' })).toContain('\nassignee: ann\n')
    expect(steady(await bob.call('claim', { id: '1' }))).toBe(
      'REFUSED TASK-001 is claimed by ann since <time>, until <time>.',
    )
    expect(await ann.call('claim', { id: '1', release: true })).toBe('Released TASK-001')
    expect(await bob.call('next', { claim: true })).toContain('\nassignee: bob\n')
  },
)

test('inside a run a claim belongs to the iteration', async () => {
  const project = new TaskProject()
  await project.must('create', 'A')
  const env = { FORKHESTRA_RUN_ID: 'r1', FORKHESTRA_STEP: '1', FORKHESTRA_AGENT: 'builder' }
  await using first = await Agent.start(project, { env: { ...env, FORKHESTRA_ITERATION: '1' } })
  await using second = await Agent.start(project, { env: { ...env, FORKHESTRA_ITERATION: '2' } })
  expect(await first.call('next', { claim: true })).toContain('\nassignee: builder\n')
  expect(await second.call('claim', { id: '1' })).toStartWith('REFUSED TASK-001 is claimed by')
  const command = await project.run(['claim', '1', '--plain'], {
    env: { ...env, FORKHESTRA_ITERATION: '1' },
  })
  expect(command.code).toBe(0)
})

test('every call renews the claims of its owner, even if it only reads', async () => {
  const project = new TaskProject()
  await project.must('create', 'A')
  await using agent = await Agent.start(project, { args: ['--as', 'bob'] })
  const until = async () => /until (\S+)/.exec(await agent.call('view', { id: '1' }))?.[1] ?? ''
  await agent.call('claim', { id: '1', lease: '30s' })
  const before = await until()
  // A lease is renewed only after a tenth of it has passed.
  while (Date.now() < Date.parse(before) - 26_900) await Bun.sleep(10)
  await agent.call('list')
  expect((await until()) > before).toBe(true)
})

test('archives and deletes', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  const tasks = ['A', 'B', 'C', 'D'].map((title) => ({ title }))
  await agent.call('create', { tasks })
  await agent.call('edit', { ids: ['1', '2'], status: 'done' })
  expect(await agent.call('archive', { ids: ['1'] })).toBe('Archived TASK-001')
  expect(await agent.call('archive', { done: true })).toBe('Archived TASK-002')
  expect(await agent.call('archive', { done: true })).toBe('Nothing to archive.')
  expect(await agent.call('archive', { ids: ['3'], delete: true })).toBe('Deleted TASK-003')
  expect(project.names()).toEqual(['TASK-004 - D.md'])
})

test('edit reports work that is added to a task that stays Done', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  await agent.call('create', { tasks: [{ title: 'A', status: 'done' }] })
  expect(await agent.call('edit', { ids: ['1'], ac: ['It works'] })).toBe(
    'TASK-001 | Done | - | A\n\nTASK-001 is Done, so no agent will work on it; set it to To Do to reopen it',
  )
  const reopened = { ids: ['1'], ac: ['It is fast'], status: 'todo' }
  expect(await agent.call('edit', reopened)).toBe('TASK-001 | To Do | - | A')
})

test('edit and release report whose claim they ended', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  await agent.call('create', { tasks: [{ title: 'A' }, { title: 'B' }] })
  for (const id of ['1', '2']) await project.must('claim', id, '--as', 'ann')
  const held = 'was held by ann since <time>, who may still be working on it.'
  const edited = await agent.call('edit', { ids: ['1'], status: 'blocked' })
  expect(steady(edited)).toBe(`TASK-001 | Blocked | - | A\n\nTASK-001 ${held}`)
  const released = await agent.call('claim', { id: '2', release: true })
  expect(steady(released)).toBe(`Released TASK-002\n\nTASK-002 ${held}`)
})

test('a task that another owner holds is not deleted', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  await agent.call('create', { tasks: [{ title: 'A' }] })
  await project.must('claim', '1', '--as', 'ann')
  const answer = await agent.call('archive', { ids: ['1'], delete: true, force: true })
  expect(answer).toStartWith('REFUSED TASK-001 is claimed by ann since ')
  expect(project.names()).toEqual(['TASK-001 - A.md'])
})

test('answers name broken files, and doctor reports them', async () => {
  const project = new TaskProject({ 'TASK-002 - Broken.md': '---\nid: [\n---\n' })
  await project.must('create', 'A')
  await using agent = await Agent.start(project)
  const warning = /\n\nFiles that cannot be read:\nTASK-002 - Broken\.md:\d+: .+$/
  for (const [name, input] of [
    ['list', {}],
    ['view', { id: '3' }],
    ['next', {}],
  ] as const) {
    expect(await agent.call(name, input)).toMatch(warning)
  }
  expect(await agent.call('doctor', { fix: true })).toContain('\n\nTASK-002 - Broken.md:2: ')
})

test('a read-only project can be read but not changed', async () => {
  const project = new TaskProject()
  await project.must('create', 'A')
  await using agent = await Agent.start(project, { program: ON_READ_ONLY_DISK })
  expect(await agent.call('list')).toBe('TASK-001 | To Do | - | A')
  expect(await agent.call('edit', { ids: ['1'], title: 'B' })).toStartWith(
    'REFUSED Cannot change the tasks in',
  )
})

test('long texts in any script arrive unchanged', async () => {
  const project = new TaskProject()
  await using agent = await Agent.start(project)
  const description = `${'ü 漢字 🎉 "\\ \u2028\n'.repeat(80_000)}end`
  expect(description.length).toBeGreaterThan(900_000)
  await agent.call('create', { tasks: [{ title: 'Größe 🎉 "quoted"', description }] })
  expect(await agent.call('list')).toBe('TASK-001 | To Do | - | Größe 🎉 "quoted"')
  expect(await agent.call('view', { id: '1' })).toContain(description)
})

test('a value cannot pose as another field', async () => {
  await using agent = await Agent.start(new TaskProject(), { client: 'x\nstatus: Done' })
  const label = 'a\nstatus: Done'
  await agent.call('create', { tasks: [{ title: 'A', labels: [label] }] })
  const text = await agent.call('claim', { id: '1' })
  expect(text.match(/^status: .*$/gm)).toEqual(['status: In Progress'])
  expect(text).toContain('\nassignee: x status: Done\nlabels: a status: Done\n')
})

test('concurrent calls, servers and commands do not disturb each other', async () => {
  const project = new TaskProject()
  await using ann = await Agent.start(project, { client: 'ann' })
  await using bob = await Agent.start(project, { client: 'bob' })
  const ten = Array.from({ length: 10 }, (_, index) => index)
  const created = await Promise.all([
    ...[ann, bob].flatMap((agent) =>
      ten.map((number) => agent.call('create', { tasks: [{ title: `Task ${number}` }] })),
    ),
    ...ten.slice(0, 4).map(async () => (await project.must('create', 'X', '--plain')).trim()),
  ])
  expect(new Set(created).size).toBe(24)
  const claimed = await Promise.all([
    ...[ann, bob].flatMap((agent) => ten.map(() => agent.call('next', { claim: true }))),
    ...ten.slice(0, 4).map(() => project.must('next', '--claim', '--plain')),
  ])
  const ids = claimed.map((text) => /^id: (\S+)/.exec(text)?.[1])
  expect(new Set(ids)).toEqual(new Set(created))
  const notes = await Promise.all(
    [ann, bob].flatMap((agent, side) =>
      ten.map((number) => agent.call('edit', { ids: ['1'], appendNotes: `n${side}${number}` })),
    ),
  )
  expect(notes.filter((text) => text.startsWith('REFUSED'))).toEqual([])
  const text = await ann.call('view', { id: '1' })
  expect(text.match(/^n\d\d$/gm)?.length).toBe(20)
})

test('the project can become a repository while the server runs', async () => {
  const project = new TaskProject()
  mkdirSync(join(project.root, 'elsewhere'))
  await using agent = await Agent.start(project, { args: ['--cwd', 'elsewhere'] })
  await agent.call('create', { tasks: [{ title: 'A' }] })
  const elsewhere = join(project.root, 'elsewhere')
  expect(existsSync(join(elsewhere, 'forge/tasks/TASK-001 - A.md'))).toBe(true)
  Bun.spawnSync(['git', 'init', '--quiet'], { cwd: project.root })
  await agent.call('claim', { id: '1' })
  const seen = await project.must('view', '1', '--cwd', elsewhere)
  expect(seen).toContain('claimed: agent since')
})

test('the tool descriptions stay short', async () => {
  await using agent = await Agent.start(new TaskProject())
  const answer = await agent.client.listTools()
  expect(answer.tools.map(({ name }) => name)).toEqual([
    'next',
    'edit',
    'view',
    'list',
    'create',
    'claim',
    'archive',
    'doctor',
  ])
  expect(Buffer.byteLength(JSON.stringify(answer))).toBeLessThan(4096)
  expect(agent.client.getInstructions()).toContain('next with claim')
})

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'by-hand', version: '1' },
  },
}

function makeLines(...calls: readonly (readonly [string, object])[]): string {
  const messages = [
    INITIALIZE,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    ...calls.map(([name, input], index) => ({
      jsonrpc: '2.0',
      id: index + 2,
      method: 'tools/call',
      params: { name, arguments: input },
    })),
  ]
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('')
}

test('an older client gets every answer before the end, and nothing else', async () => {
  const project = new TaskProject()
  const description = 'x'.repeat(1_000_000)
  const stdin = makeLines(
    ['create', { tasks: [{ title: 'A', description }] }],
    ['claim', { id: '1' }],
    ['view', { id: '1' }],
  )
  const { code, stdout, stderr } = await project.run(['mcp'], { stdin })
  const answers = stdout.trimEnd().split('\n')
  const parsed = answers.map((line) => JSON.parse(line) as { id: number; result: object })
  expect(new Set(parsed.map(({ id }) => id))).toEqual(new Set([1, 2, 3, 4]))
  expect(parsed.length).toBe(4)
  expect(parsed.find(({ id }) => id === 1)?.result).toMatchObject({
    protocolVersion: '2025-06-18',
    serverInfo: { name: 'forge-tasks' },
  })
  expect(JSON.stringify(parsed.find(({ id }) => id === 4))).toContain(description)
  expect(stdout).toContain('assignee: by-hand')
  expect([code, stderr]).toEqual([0, ''])
})

test('`forkhestra tasks mcp` is the same server', async () => {
  const project = new TaskProject()
  const program = [join(FORGE_TASKS, '../forkhestra'), 'tasks']
  const stdin = makeLines(['list', {}])
  const { code, stdout } = await project.run(['mcp'], { program, stdin })
  expect(stdout).toContain('"text":"No tasks."')
  expect(code).toBe(0)
})

test('invalid messages get an error, and each message of a batch its own answer', async () => {
  const project = new TaskProject()
  const batch = [7, 8].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/list' }))
  const stdin = [
    'garbage\n{"jsonrpc":"2.0"}\n[]\n\nnull\n',
    makeLines(['list', {}]),
    '{"jsonrpc":"2.0","id":{},"method":"ping"}\n',
    `${JSON.stringify(batch)}\n`,
  ].join('')
  const { code, stdout } = await project.run(['mcp'], { stdin })
  expect(stdout).toContain('"text":"No tasks."')
  expect(code).toBe(0)
  const answers = stdout.trimEnd().split('\n')
  const parsed = answers.map(
    (line) => JSON.parse(line) as { id: unknown; error?: { code: number } },
  )
  expect(
    parsed.flatMap(({ id, error }) => (error === undefined ? [] : [[id, error.code]])),
  ).toEqual([
    [null, -32_700],
    [null, -32_600],
    [null, -32_600],
    [null, -32_600],
    [null, -32_600],
  ])
  const ids = parsed.flatMap(({ id, error }) => (error === undefined ? [id] : []))
  expect(new Set(ids)).toEqual(new Set([1, 2, 7, 8]))
})

test('a wrong option or folder is refused before the server starts', async () => {
  const project = new TaskProject()
  const wrong = [['--az', 'x'], ['--cwd', 'nowhere'], ['word']]
  for (const args of wrong) {
    const { code, stdout } = await project.run(['mcp', ...args])
    expect([code, stdout]).toEqual([2, ''])
  }
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends the server although stdin is open, and leaves nothing behind',
  async (signal) => {
    const project = new TaskProject()
    await using agent = await Agent.start(project)
    await agent.call('create', { tasks: [{ title: 'A' }] })
    process.kill(agent.pid, signal)
    while (isAlive(agent.pid)) await Bun.sleep(5)
    expect(project.names()).toEqual(['TASK-001 - A.md'])
    expect(readdirSync(project.folder).toSorted()).toEqual(['.local', 'TASK-001 - A.md', 'archive'])
  },
)

test('the server can be ended while it waits for the lock', async () => {
  const project = new TaskProject()
  await project.must('create', 'A')
  await using agent = await Agent.start(project)
  const lock = join(import.meta.dir, '../../src/base/linux/lock.ts')
  const path = join(project.folder, '.local/lock')
  const script = `(await import('${lock}')).withLock('${path}', () => {
    console.log('held')
    Bun.sleepSync(600_000)
  })`
  const holder = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await holder.stdout.getReader().read()
  const answer = agent.call('edit', { ids: ['1'], title: 'B' }).catch(() => 'no answer')
  while (!hasOpen(agent.pid, path)) await Bun.sleep(5)
  process.kill(agent.pid, 'SIGTERM')
  while (isAlive(agent.pid)) await Bun.sleep(5)
  expect(await answer).toBe('no answer')
  holder.kill('SIGKILL')
  await holder.exited
  expect(await project.must('list', '--plain')).toBe('TASK-001 | To Do | - | A\n')
})

function hasOpen(pid: number, path: string): boolean {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).some((fd) => {
    try {
      return readlinkSync(join(folder, fd)) === path
    } catch {
      return false
    }
  })
}

test('a client that does not read its answers cannot keep the server alive', async () => {
  const project = new TaskProject()
  await project.must('create', 'A', '-d', 'x'.repeat(100_000))
  const fifo = join(project.root, 'answers')
  Bun.spawnSync(['mkfifo', fifo])
  const reader = openSync(fifo, constants.O_RDONLY | constants.O_NONBLOCK)
  const writer = openSync(fifo, constants.O_WRONLY)
  const views = Array.from({ length: 20 }, () => ['view', { id: '1' }] as const)
  const child = Bun.spawn([FORGE_TASKS, 'mcp'], {
    cwd: project.root,
    env: environment({ cwd: project.root }),
    stdin: Buffer.from(makeLines(...views)),
    stdout: writer,
    stderr: 'pipe',
  })
  closeSync(writer)
  expect([await child.exited, await child.stderr.text()]).toEqual([0, ''])
  closeSync(reader)
})
