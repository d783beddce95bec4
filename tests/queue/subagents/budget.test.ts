import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, survivors } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { problemsOf, tasksOf } from '../../support/queue.ts'
import { journalOf, ofType, runsOf } from '../../support/record.ts'

/** Reports usage while it works and its cost at the end, like the real program. */
const CLAUDE = sh(
  'for last; do :; done',
  'name=$FORKHESTRA_AGENT_NAME',
  'printf "%s\\n" "$@" > "args-$name"',
  'echo "$name" >> begun',
  `report() { printf '{"type":"assistant","message":{"id":"m%s","usage":{"input_tokens":%s,"output_tokens":0},"content":[{"type":"text","text":"so far"}]}}\\n' "$1" "$1"; }`,
  `end() { printf '{"type":"result","subtype":"success","is_error":false,"result":"done","total_cost_usd":%s}\\n' "$1"; }`,
  'cost=0.01',
  'eval "$last"',
  'end $cost',
)

/** Waits in the shell of a task until this succeeds. */
const untilIs = (condition: string) => `until ${condition}; do sleep 0.05; done`

/** Waits until the agent of the step and five tasks have begun. */
const ALL_BEGUN = untilIs('[ $(wc -l < begun) = 6 ]')

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

interface Made {
  readonly work: string
  readonly names?: readonly string[]
  readonly width?: number
  readonly chain?: object
  readonly step?: object
}

function makeBudgetProject({ work, names = NAMES, width = 5, chain = {}, step = {} }: Made) {
  const prompt = [
    ...names.map((name) => `/push name=${name} '${work}'`),
    `/run parallel=${width}`,
    `forkhestra receive --json --from ${names.join(',')} > got; touch read`,
  ].join('\n')
  const agents = { lead: { systemPromptText: 'You lead.', retry: { attempts: 1 } } }
  const chains = { work: { steps: [{ agent: 'lead', prompt, ...step }], ...chain } }
  const config = JSON.stringify({ agents, chains })
  return makeProject({ claude: CLAUDE, 'forge/orch/chains.json': config })
}

function run(cwd: string) {
  return forkhestra(['--chain', 'work'], { cwd, env: { IS_SANDBOX: '1' } })
}

function eventsOf(cwd: string) {
  return journalOf(cwd, runsOf(cwd)[0]!)
}

function budgetOf(cwd: string, name: string): number {
  const args = readFileSync(join(cwd, `args-${name}`), 'utf8').split('\n')
  return Number(args[args.indexOf('--max-budget-usd') + 1])
}

/** From the events, because under load a task may end before its program writes anything. */
function startedIn(cwd: string): string[] {
  const started = ofType(eventsOf(cwd), 'task_started')
  return started.flatMap(({ task, pid }) => (pid === undefined ? [] : [task])).toSorted()
}

test('tasks that start together share the remaining budget and leave a share for others', async () => {
  const names = NAMES.slice(0, 5)
  const cwd = makeBudgetProject({ work: ALL_BEGUN, names, chain: { maxCostUsd: 1.2 } })
  expect((await run(cwd)).code).toBe(0)
  expect(budgetOf(cwd, 'main')).toBe(0.6)
  expect(names.map((name) => budgetOf(cwd, name))).toEqual([0.1, 0.1, 0.1, 0.1, 0.1])
})

test('a later task gets what has not been reserved for others', async () => {
  const names = ['a', 'b', 'c']
  // The first ends once the second has begun, and the second once the third has.
  const next = 'case $name in a) next=b ;; *) next=c ;; esac'
  const work = `cost=0.1; ${next}; ${untilIs('grep -qx $next begun')}`
  const cwd = makeBudgetProject({ work, names, width: 2, chain: { maxCostUsd: 1.2 } })
  expect((await run(cwd)).code).toBe(0)
  // 0.60 is reserved for the lead and 0.20 for b, and a has cost 0.10: half of 0.30.
  expect(names.map((name) => budgetOf(cwd, name))).toEqual([0.2, 0.2, 0.15])
})

test('no budget is reserved twice, not even for the agent of the step and its tasks', async () => {
  const later = 'forkhestra push name=late true; forkhestra run-queue'
  const cwd = makeBudgetProject({
    work: `${later}; ${untilIs('grep -qx late begun')}`,
    names: ['early'],
    step: { maxCostUsd: 1 },
  })
  expect((await run(cwd)).code).toBe(0)
  expect(['main', 'early', 'late'].map((name) => budgetOf(cwd, name))).toEqual([0.5, 0.25, 0.12])
})

test('a task is not started if no budget is left', async () => {
  const prompt =
    'forkhestra push name=a true; forkhestra run-queue; forkhestra receive --json > got'
  const agents = { lead: { systemPromptText: 'You lead.' } }
  const chains = { work: { steps: [{ agent: 'lead', prompt, maxCostUsd: 1 }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({ claude: CLAUDE, 'forge/orch/chains.json': config })
  expect((await run(cwd)).code).toBe(0)
  expect(budgetOf(cwd, 'main')).toBe(1)
  expect(readFileSync(join(cwd, 'begun'), 'utf8')).toBe('main\n')
  const got = readFileSync(join(cwd, 'got'), 'utf8')
  expect(got).toContain(
    '"class":"budget","error":"budget: the remaining $1.00 is reserved for other agents',
  )
})

test('a complete run reports that it exceeded its budget', async () => {
  // Each of them exceeds its share.
  const claude = CLAUDE.replace('cost=0.01', 'cost=0.6')
  const agents = { lead: { systemPromptText: 'You lead.' } }
  const isLeadGone = '[ -s lead ] && ! kill -0 $(cat lead) 2>/dev/null'
  const prompt = `/push name=a '${untilIs(isLeadGone)}'\n/run\necho $$ > lead`
  const chains = { work: { steps: [{ agent: 'lead', prompt, maxCostUsd: 1 }] } }
  const config = JSON.stringify({ agents, chains })
  const cwd = makeProject({ claude, 'forge/orch/chains.json': config })
  const { code, stderr } = await run(cwd)
  expect(code).toBe(0)
  expect(stderr).toContain('Warning: budget of the step spent: $1.20 of $1.00')
})

test.each([
  ['the run', { chain: { maxTokens: 1000 } }],
  ['the step', { step: { maxTokens: 1000 } }],
])('running tasks end together when the tokens of %s are used up', async (of, made) => {
  const cwd = makeBudgetProject({ work: `${ALL_BEGUN}; report 300; sleep 600`, ...made })
  const { code, stdout } = await run(cwd)
  expect(code).toBe(1)
  expect(survivors()).toEqual([])
  const tasks = await tasksOf(cwd)
  expect(tasks.map(({ end }) => end?.class)).toEqual(NAMES.map(() => 'budget'))
  expect(startedIn(cwd)).toEqual(NAMES.slice(0, 5))
  const ended = ofType(eventsOf(cwd), 'task_ended')
  expect(ended.map(({ error }) => error).join('\n')).toContain(' of 1.0k tokens')
  expect(ended.map(({ error }) => error).join('\n')).toContain(`budget of ${of} spent`)
  expect(stdout).toContain('Failed at step 1: lead (budget spent:')
  expect(ofType(eventsOf(cwd), 'step_ended')[0]?.reason).toBe('budget')
  expect(await problemsOf(cwd)).toEqual([])
})

test('running tasks end when the budget of the run is spent, and finished ones stay done', async () => {
  const work = `case $name in a) cost=1.5; ${ALL_BEGUN} ;; *) sleep 600 ;; esac`
  const cwd = makeBudgetProject({ work, chain: { maxCostUsd: 1 } })
  expect((await run(cwd)).code).toBe(1)
  expect(survivors()).toEqual([])
  const [first, ...others] = await tasksOf(cwd)
  expect(first?.end?.success).toBe(true)
  expect(others.map(({ end }) => end?.class)).toEqual(others.map(() => 'budget'))
  expect(startedIn(cwd)).toEqual(NAMES.slice(0, 5))
  expect(ofType(eventsOf(cwd), 'step_ended')[0]?.reason).toBe('budget')
})

test('running tasks end at the time limit of the run, and the others are not started', async () => {
  const cwd = makeBudgetProject({ work: 'sleep 600', chain: { maxDuration: '3s' } })
  expect((await run(cwd)).code).toBe(1)
  expect(survivors()).toEqual([])
  expect((await tasksOf(cwd)).map(({ end }) => end?.class)).toEqual(NAMES.map(() => 'budget'))
  // On a slow machine, the time may be over before all five have started.
  expect(NAMES.slice(0, 5)).toEqual(expect.arrayContaining(startedIn(cwd)))
  expect(ofType(eventsOf(cwd), 'step_ended')[0]?.reason).toBe('budget')
})

test.each<[string, object, object]>([
  ['the run', { maxDuration: '3s' }, {}],
  ['the step', {}, { maxDuration: '3s' }],
])('an agent whose tasks end at the time limit of %s ends with them', async (_, chain, step) => {
  // A long setup: the agent starts much later than its task.
  const setup = ["/push name=a 'sleep 600'", ...Array<string>(500).fill('/run')]
  const prompt = [...setup, 'forkhestra receive --from a; echo over'].join('\n')
  const chains = { work: { steps: [{ agent: './agent', prompt, ...step }], ...chain } }
  const config = JSON.stringify({ chains })
  const cwd = makeProject({ agent: sh('eval "$1"'), 'forge/orch/chains.json': config })
  expect((await run(cwd)).code).toBe(1)
  expect((await tasksOf(cwd)).map(({ end }) => end?.class)).toEqual(['budget'])
  expect(ofType(eventsOf(cwd), 'step_ended')[0]?.reason).toBe('budget')
})
