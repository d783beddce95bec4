import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { FORKHESTRA } from '../support/forkhestra.ts'
import { openStage, type Stage } from './support/stage.ts'
import { DONE, writes } from './support/writer.ts'

const tool = (name: string, input: Record<string, unknown> = {}) => ({
  name: `mcp__forkhestra__${name}`,
  input,
})

const LEAD = {
  when: { system: 'You write' },
  turns: [
    { tool: tool('push', { name: 'alpha', prompt: 'Look for alpha.' }) },
    { tool: tool('push', { name: 'beta', prompt: 'Look for beta.', model: 'haiku' }) },
    { tool: tool('run', { parallel: 2 }) },
    { tool: tool('receive', { from: ['alpha', 'beta'] }) },
    DONE,
  ],
}

const ALPHA = { when: { system: 'You are alpha, a sub-agent' }, turns: [{ text: 'It is in a.' }] }
const BETA = {
  when: { system: 'You are beta, a sub-agent' },
  // The inbox of a sub-agent is its own.
  turns: [{ tool: tool('inbox') }, { text: 'It is in b.' }],
}

/** Another server, which is the agent's own. */
const OTHER = { command: join(FORKHESTRA, '../forge-tasks'), args: ['mcp'], alwaysLoad: true }
const FILES = { 'forge/.keep': '', 'mcp.json': JSON.stringify({ mcpServers: { other: OTHER } }) }

interface Received {
  readonly status: string
  readonly messages: readonly { readonly from: string; readonly output?: string }[]
}

/** The last request of an agent holds all its conversation. */
function lastAsk({ asks }: Stage, words: string) {
  return asks.filter(({ system }) => system.includes(words)).at(-1)!
}

const mcpConfig = 'mcp.json'

test.each([
  ['works without being asked', { mcpConfig }, ['forkhestra', 'other']],
  ['may use few tools', { mcpConfig, allowedTools: ['Read', 'Bash'] }, ['forkhestra']],
  ['has to ask', { permissionMode: 'acceptEdits' }, ['forkhestra']],
])(
  'one claude session that %s queues, starts and collects two sub-agents',
  async (_, agent, servers) => {
    await using stage = await openStage({
      script: { conversations: [LEAD, ALPHA, BETA] },
      files: FILES,
      ...writes({ queue: true, ...agent }, { iterations: 1 }),
    })
    const { code, stdout, stderr } = await stage.run('--chain', 'w')
    expect(`${code} ${stderr}`).toBe('0 ')
    expect(stdout).toContain('Task alpha: done')
    const { results, tools } = lastAsk(stage, 'You write.')
    expect(results.slice(0, 3)).toEqual([
      '{"name":"alpha"}',
      '{"name":"beta"}',
      '{"started":["alpha","beta"],"held":0}',
    ])
    const { status, messages } = JSON.parse(results[3]!) as Received
    expect(status).toBe('received')
    expect(messages.map(({ from, output }) => [from, output])).toEqual([
      ['alpha', 'It is in a.'],
      ['beta', 'It is in b.'],
    ])
    const foreign = tools
      .filter((name) => name.startsWith('mcp__'))
      .map((name) => name.split('__')[1]!)
    expect(new Set(foreign)).toEqual(new Set(servers))
    const beta = lastAsk(stage, 'You are beta')
    expect(beta.results).toEqual(['{"messages":[]}'])
    expect(beta.model).toContain('haiku')
    expect((await stage.run('inbox')).stdout).toBe('The inbox is empty.\n')
    expect((await stage.run('queue', 'verify')).code).toBe(0)
  },
  120_000,
)

test('queue commands in a prompt provide the tools, and sub-agents can have sub-agents', async () => {
  const middle = {
    when: { system: 'You are middle, a sub-agent' },
    turns: [
      { tool: tool('push', { name: 'alpha', prompt: 'Look for alpha.' }) },
      { tool: tool('run') },
      { tool: tool('receive', { from: ['alpha'] }) },
      { text: 'Below me all is done.' },
    ],
  }
  const lead = {
    when: { system: 'You write' },
    turns: [{ tool: tool('receive', { from: ['middle'] }) }, DONE],
  }
  const prompt = '/push name=middle "Let others work."\n/run\nCollect it.'
  await using stage = await openStage({
    script: { conversations: [lead, middle, ALPHA] },
    files: FILES,
    ...writes({}, { iterations: 1, prompt }),
  })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(`${code} ${stderr}`).toBe('0 ')
  const below = JSON.parse(lastAsk(stage, 'You are middle').results[2]!) as Received
  expect(below.messages).toMatchObject([{ from: 'alpha', output: 'It is in a.' }])
  const above = JSON.parse(lastAsk(stage, 'You write.').results[0]!) as Received
  expect(above.messages).toMatchObject([{ from: 'middle', output: 'Below me all is done.' }])
  expect((await stage.run('queue', 'verify')).code).toBe(0)
}, 120_000)
