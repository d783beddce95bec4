import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORKHESTRA, forkhestra } from '../../support/forkhestra.ts'
import { makeProject, sh } from '../../support/project.ts'
import { readStore } from '../../support/queue-records.ts'
import { runsOf } from '../../support/record.ts'

/** Records its servers, and lets a sub-agent do the same. */
const CLAUDE = sh(
  'name=$FORKHESTRA_AGENT_NAME; servers=',
  'while [ $# -gt 0 ]; do [ "$1" = --mcp-config ] && servers=$2; shift; done',
  'printf "%s" "$servers" > "servers-$name"',
  `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
)

const AGENTS = {
  plain: { systemPromptText: 'You work.' },
  queues: { systemPromptText: 'You lead.', queue: true },
  never: { systemPromptText: 'You are alone.', queue: false },
  reads: { systemPromptText: 'You read.', allowedTools: ['Read', 'Grep'] },
  thinks: { systemPromptText: 'You think.', permissionMode: 'plan' },
  chosen: { systemPromptText: 'You read.', allowedTools: ['Read'], queue: true },
}

const PUSHES = '/push name=child "Go."\n/run\nWork.'

function makeToolProject(agent: string, prompt: string, more: object = {}): string {
  const chains = { w: { steps: [{ agent, prompt }] } }
  return makeProject({
    claude: CLAUDE,
    'forge/orch/specs/PLAN.md': 'A plan.\n',
    'forge/orch/chains.json': JSON.stringify({ agents: { ...AGENTS, ...more }, chains }),
  })
}

const env = { IS_SANDBOX: '1' }

interface DryRun {
  readonly steps: readonly { readonly queueTools?: boolean; readonly argv: readonly string[] }[]
}

test.each<[string, string, boolean]>([
  ['plain', 'Work.', false],
  ['plain', '/read chains.md\nWork.', false],
  ['plain', PUSHES, true],
  ['plain', 'Work.\n/push name=later "Go."', true],
  ['queues', 'Work.', true],
  ['never', PUSHES, false],
  ['reads', PUSHES, false],
  ['thinks', PUSHES, false],
  ['chosen', 'Work.', true],
  ['planner', PUSHES, false],
  ['reviewer', PUSHES, true],
])('%s with the prompt %j gets queue tools: %p', async (agent, prompt, isHanded) => {
  const cwd = makeToolProject(agent, prompt)
  const json = await forkhestra(['--chain', 'w', '--dry-run', '--json'], { cwd, env })
  const [step] = (JSON.parse(json.stdout) as DryRun).steps
  expect(step?.queueTools === true).toBe(isHanded)
  expect(step?.argv.some((word) => word.includes(`"command":"${FORKHESTRA}"`))).toBe(isHanded)
  const { stdout } = await forkhestra(['--chain', 'w', '--dry-run'], { cwd, env })
  expect(stdout.includes('tools: queue and inbox, mcp__forkhestra__*')).toBe(isHanded)
})

test('a planner gets queue tools if its entry says so', async () => {
  const cwd = makeToolProject('planner', 'Plan.', { planner: { queue: true } })
  const { stdout } = await forkhestra(['--chain', 'w', '--dry-run', '--json'], { cwd, env })
  expect((JSON.parse(stdout) as DryRun).steps[0]?.queueTools).toBe(true)
})

interface Servers {
  readonly mcpServers: { readonly forkhestra: { readonly env: Record<string, string> } }
}

/** The agent that a server acts for. */
function actsFor(cwd: string, name: string): Record<string, string> | undefined {
  const text = readFileSync(join(cwd, `servers-${name}`), 'utf8')
  return text === '' ? undefined : (JSON.parse(text) as Servers).mcpServers.forkhestra.env
}

test('each agent and sub-agent gets a server that acts for it', async () => {
  const cwd = makeToolProject('plain', PUSHES)
  expect((await forkhestra(['--chain', 'w'], { cwd, env })).code).toBe(0)
  const FORKHESTRA_RUN_ID = runsOf(cwd)[0]!
  const FORKHESTRA_RECORD = join(cwd, 'forge/orch/runs', FORKHESTRA_RUN_ID)
  const identity = { FORKHESTRA_RUN_ID, FORKHESTRA_RECORD }
  expect(actsFor(cwd, 'main')).toEqual({ ...identity, FORKHESTRA_AGENT_NAME: 'main' })
  const [child] = readStore<{ id: string }>(cwd, `select id from task where name = 'child'`)
  expect(actsFor(cwd, 'child')).toEqual({
    ...identity,
    FORKHESTRA_AGENT_NAME: 'child',
    FORKHESTRA_TASK_ID: child!.id,
    FORKHESTRA_TASK_ATTEMPT: '1',
  })
})

test.each(['never', 'reads', 'thinks'])('a sub-agent of %s gets no queue tools', async (agent) => {
  const cwd = makeToolProject(agent, PUSHES)
  expect((await forkhestra(['--chain', 'w'], { cwd, env })).code).toBe(0)
  expect([actsFor(cwd, 'main'), actsFor(cwd, 'child')]).toEqual([undefined, undefined])
})
