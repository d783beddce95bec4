import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, survivors } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { ask } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

const RESULT = `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","total_cost_usd":0.01}'`

/** Records its arguments and runs its prompt as a script. */
const CLAUDE = sh(
  'for last; do :; done',
  'printf "%s\\n" "$@" > "args-$FORKHESTRA_AGENT_NAME"',
  'eval "$last" > /dev/null',
  RESULT,
)
const OBEDIENT = sh('eval "$1"')

interface Made {
  readonly step?: object
  readonly agents?: object
  readonly lead?: string
}

/** One step, whose agent queues tasks and waits for them. */
function makeFamily(
  prompt: string,
  { step = {}, agents = {}, lead = './lead' }: Made = {},
): string {
  const chains = { work: { steps: [{ agent: lead, prompt, ...step }] } }
  const config = JSON.stringify({ agents, chains })
  const files = { claude: CLAUDE, lead: OBEDIENT, other: OBEDIENT }
  return makeProject({ ...files, 'forge/orch/chains.json': config })
}

function run(cwd: string, ...more: string[]) {
  return forkhestra(['--chain', 'work', ...more], { cwd, env: { IS_SANDBOX: '1' } })
}

interface EndedTask {
  readonly name: string
  readonly end: { readonly class?: string; readonly error?: string } | null
}

async function endsOf(cwd: string): Promise<string[]> {
  const { tasks } = await ask<{ tasks: EndedTask[] }>(cwd, 'queue', '--all')
  return tasks.map(({ name, end }) => `${name} ${end?.class ?? 'done'}: ${end?.error ?? ''}`)
}

function argOf(cwd: string, name: string, option: string): string | undefined {
  const args = readFileSync(join(cwd, `args-${name}`), 'utf8').split('\n')
  return args.includes(option) ? args[args.indexOf(option) + 1] : undefined
}

const three = (work: string) => [
  `/push name=same '${work}'`,
  `/push name=named agent=./other '${work}'`,
  `/push name=own timeout=2 agent=./other '${work}'`,
  '/run',
]

test('a task has at most the time limit of its parent', async () => {
  const push = (name: string, timeout: string, work: string) =>
    `forkhestra push name=${name} timeout=${timeout} "${work}"; forkhestra run-queue`
  const prompt = [
    "/push name=more timeout=1h 'sleep 60'",
    `/push name=less timeout=1 '${push('below', '30m', 'sleep 60')}; sleep 60'`,
    "/push name=other agent=./other timeout=1h 'sleep 60'",
    '/run',
    'true',
  ].join('\n')
  const cwd = makeFamily(prompt, { step: { timeout: '2s' } })
  await run(cwd)
  expect(survivors()).toEqual([])
  expect((await endsOf(cwd)).toSorted()).toEqual([
    'below timeout: timed out after 1 s',
    'less timeout: timed out after 1 s',
    'more timeout: timed out after 2 s',
    'other timeout: timed out after 2 s',
  ])
})

test('the time limit of the parent applies to its tasks with any agent', async () => {
  const prompt = [...three('sleep 60'), 'true'].join('\n')
  const cwd = makeFamily(prompt, { step: { timeout: '1s' } })
  await run(cwd)
  expect(survivors()).toEqual([])
  expect(await endsOf(cwd)).toEqual([
    'same timeout: timed out after 1 s',
    'named timeout: timed out after 1 s',
    'own timeout: timed out after 1 s',
  ])
})

test('the time limit on the command line applies to tasks', async () => {
  const cwd = makeFamily([...three('sleep 60'), 'true'].join('\n'))
  await run(cwd, '--timeout', '1s')
  expect((await endsOf(cwd))[1]).toBe('named timeout: timed out after 1 s')
})

test('idle timeout and grace period are inherited', async () => {
  const prompt = [...three('trap "" TERM INT; sleep 60 & wait; wait'), 'true'].join('\n')
  const grace = { term: '300ms' }
  const cwd = makeFamily(prompt, { step: { idleTimeout: '1s', grace } })
  await run(cwd)
  // With the usual grace, each would last for eleven seconds.
  const ended = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_ended')
  expect(Math.max(...ended.map(({ ms }) => ms))).toBeLessThan(11_000)
  expect(await endsOf(cwd)).toEqual([
    'same timeout: silent for 1 s',
    'named timeout: silent for 1 s',
    'own timeout: silent for 1 s',
  ])
  expect(survivors()).toEqual([])
})

test('the configuration of an agent overrides what it inherits', async () => {
  const work = 'echo "$COLOUR $SIZE" > seen-$FORKHESTRA_AGENT_NAME; sleep 60'
  const agents = { './other': { timeout: '1500ms', env: { COLOUR: 'blue' } } }
  const env = { COLOUR: 'red', SIZE: 'big' }
  const cwd = makeFamily([...three(work), 'true'].join('\n'), {
    agents,
    step: { timeout: '1s', env },
  })
  await run(cwd)
  expect((await endsOf(cwd))[1]).toBe('named timeout: timed out after 1.5 s')
  const seen = (name: string) => readFileSync(join(cwd, `seen-${name}`), 'utf8')
  expect([seen('same'), seen('named')]).toEqual(['red big\n', 'blue big\n'])
})

test('tools, permissions and budget can only shrink from parent to child', async () => {
  const agents = {
    lead: {
      systemPromptText: 'Lead.',
      allowedTools: ['Bash', 'Read'],
      disallowedTools: ['WebFetch'],
      permissionMode: 'plan',
    },
    helper: {
      systemPromptText: 'Help.',
      allowedTools: ['Read', 'Write'],
      permissionMode: 'bypassPermissions',
      maxCostUsd: 0.2,
    },
  }
  const grandchild = [
    'forkhestra push name=grandchild agent=lead true;',
    'forkhestra push name=plain true; forkhestra run-queue',
  ].join(' ')
  const prompt = [
    `/push name=child agent=helper '${grandchild}'`,
    '/run',
    'forkhestra receive --from child',
  ].join('\n')
  const cwd = makeFamily(prompt, { agents, lead: 'lead', step: { maxCostUsd: 1 } })
  const { code, stderr } = await run(cwd)
  expect(`${code} ${stderr}`).toBe('0 ')
  expect(argOf(cwd, 'child', '--tools')).toBe('Read')
  expect(argOf(cwd, 'child', '--permission-mode')).toBe('plan')
  expect(argOf(cwd, 'child', '--max-budget-usd')).toBe('0.20')
  expect(argOf(cwd, 'grandchild', '--tools')).toBe('Read')
  expect(Number(argOf(cwd, 'grandchild', '--max-budget-usd'))).toBeLessThanOrEqual(0.2)
  expect(Number(argOf(cwd, 'plain', '--max-budget-usd'))).toBeLessThanOrEqual(0.2)
  expect(argOf(cwd, 'grandchild', '--permission-mode')).toBe('plan')
  expect(argOf(cwd, 'grandchild', '--disallowedTools')).toContain('WebFetch')
  const started = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'task_started')
  expect(started.map(({ task, parent, agent }) => [task, parent, agent])).toEqual([
    ['child', 'main', 'helper'],
    ['grandchild', 'child', 'lead'],
    ['plain', 'child', 'helper'],
  ])
})

test('the token limit of an agent applies to each of its tasks separately', async () => {
  const report = `printf '{"type":"assistant","message":{"id":"m","usage":{"input_tokens":500},"content":[]}}\\n'`
  const claude = sh('for last; do :; done', `report() { ${report}; }`, 'eval "$last"', RESULT)
  const agents = {
    lead: { systemPromptText: 'Lead.' },
    helper: { systemPromptText: 'Help.', maxTokens: 400 },
  }
  const prompt = [
    "/push name=greedy agent=helper 'report; sleep 600'",
    "/push name=free 'report; until [ -e go ]; do sleep 0.05; done'",
    '/run',
    'forkhestra receive --from greedy > /dev/null; touch go',
    'forkhestra receive --from free > /dev/null',
  ].join('\n')
  const chains = { work: { steps: [{ agent: 'lead', prompt }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({ claude, 'forge/orch/chains.json': config })
  expect((await run(cwd)).code).toBe(0)
  expect(await endsOf(cwd)).toEqual([
    'greedy budget: budget spent: 500 of 400 tokens',
    'free done: ',
  ])
})

const REFUSED = (program: string) =>
  new RegExp(`precondition: '${program}' is a program, and .* may not run`)

test.each([
  ['a list of tools without Bash', { allowedTools: ['Read', 'Write'] }],
  ['a permission mode that asks', { permissionMode: 'acceptEdits' }],
  ['plan mode', { allowedTools: ['Read', 'Bash'], permissionMode: 'plan' }],
  ['Bash forbidden', { disallowedTools: ['Bash'] }],
  ['a part of Bash forbidden', { disallowedTools: ['Bash(rm:*)'] }],
])('below an agent with %s, only configured programs can be agents', async (_, limits) => {
  const agents = {
    lead: { systemPromptText: 'Lead.', queue: true, ...limits },
    './other': {},
  }
  const prompt = [
    '/push name=path agent=./lead "touch owned"',
    '/push name=found agent=sh "-ctouch owned"',
    '/push name=named agent=./other "touch named"',
    '/run',
    'forkhestra receive --from path,found,named',
  ].join('\n')
  const cwd = makeFamily(prompt, { agents, lead: 'lead' })
  await run(cwd)
  const [path, found, named] = await endsOf(cwd)
  expect(path).toMatch(REFUSED('./lead'))
  expect(found).toMatch(REFUSED('sh'))
  expect(named).toBe('named done: ')
  expect(existsSync(join(cwd, 'owned'))).toBe(false)
  expect(existsSync(join(cwd, 'named'))).toBe(true)
})

test('restrictions of an agent apply to its descendants, even through a program', async () => {
  const agents = {
    lead: { systemPromptText: 'Lead.', queue: true, allowedTools: ['Read', 'Grep'] },
    helper: { systemPromptText: 'Help.', allowedTools: ['Read', 'Bash'] },
    './other': {},
  }
  const below = [
    'forkhestra push name=own true',
    'forkhestra push name=claude agent=helper true',
    'forkhestra push name=free agent=./lead "touch owned"',
    'forkhestra run-queue',
    'forkhestra receive --from own,claude,free',
  ].join('; ')
  const prompt = [
    `/push name=named agent=./other '${below}'`,
    '/run',
    'forkhestra receive --from named',
  ].join('\n')
  const cwd = makeFamily(prompt, { agents, lead: 'lead' })
  await run(cwd)
  const [named, own, claude, free] = await endsOf(cwd)
  expect([named, own, claude]).toEqual(['named done: ', 'own done: ', 'claude done: '])
  expect(free).toMatch(REFUSED('./lead'))
  expect(existsSync(join(cwd, 'owned'))).toBe(false)
  expect(argOf(cwd, 'claude', '--tools')).toBe('Read')
})

test('an unrestricted agent can give tasks to any program', async () => {
  const agents = { lead: { systemPromptText: 'Lead.', allowedTools: ['Bash', 'Read'] } }
  const prompt = '/push name=any agent=./other "touch done"\n/run\nforkhestra receive'
  const cwd = makeFamily(prompt, { agents, lead: 'lead' })
  await run(cwd)
  expect(await endsOf(cwd)).toEqual(['any done: '])
})

test('a stricter permission mode of an agent is kept', async () => {
  const agents = {
    lead: { systemPromptText: 'Lead.', permissionMode: 'bypassPermissions' },
    careful: { systemPromptText: 'Look.', permissionMode: 'plan' },
  }
  const prompt = '/push name=child agent=careful true\n/run\nforkhestra receive'
  const cwd = makeFamily(prompt, { agents, lead: 'lead' })
  await run(cwd)
  expect(argOf(cwd, 'child', '--permission-mode')).toBe('plan')
})

test('a named agent on Claude Code knows its name in the run and its parent', async () => {
  const agents = { helper: { systemPromptText: 'You help.' } }
  const cwd = makeProject({
    claude: sh('printf "%s\\n" "$@" > "args-$FORKHESTRA_AGENT_NAME"', 'echo done'),
    'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }),
  })
  const env = { IS_SANDBOX: '1' }
  await forkhestra(['push', '--agent', 'helper', '--name', 'hand', 'Help.'], { cwd, env })
  await forkhestra(['run-queue'], { cwd, env })
  const args = readFileSync(join(cwd, 'args-hand'), 'utf8')
  expect(args).toContain('You help.\n\nYour name in this run is hand. main gave you this task')
})
