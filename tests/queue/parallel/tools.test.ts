import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, startChain } from '../../support/chains.ts'
import { forkhestra } from '../../support/forkhestra.ts'
import { McpClient } from '../../support/mcp.ts'
import { asked, openNative } from '../../support/native.ts'
import { makeProject, sh } from '../../support/project.ts'
import { problemsOf } from '../../support/queue.ts'
import { runsOf } from '../../support/record.ts'
import { fileIn } from '../../support/until.ts'

test('the tools of native agents in branches act for each of them', async () => {
  const call = (name: string, input: Record<string, unknown>) => ({ tool: { name, input } })
  const item = (name: string, prompt: string) => ({ agent: 'nat', name, prompt })
  const items = [item('one', 'Send it'), item('two', 'Wait for it')]
  await using stage = await openNative(
    {
      conversations: [
        {
          when: { prompt: '^Send' },
          turns: [call('send', { to: 'two', message: 'hello' }), { text: 'Sent.' }],
        },
        {
          when: { prompt: '^Wait' },
          turns: [call('receive', { from: ['one'] }), { text: 'Good.' }],
        },
      ],
    },
    {
      agent: { queue: true },
      configuration: { chains: { c: { steps: [{ parallel: items }] } } },
    },
  )
  const { code, stdout, stderr } = await stage.run('--chain', 'c')
  expect({ code, stdout, stderr }).toMatchObject({ code: 0 })
  const sent = JSON.stringify(asked(stage).map(({ messages }) => messages))
  expect(sent).toContain('\\"from\\":\\"one\\"')
  expect(await problemsOf(stage.cwd)).toEqual([])
})

test('the MCP tools of an agent in a branch act for it', async () => {
  const wait = 'until [ -e go ]; do sleep 0.05; done; forkhestra check >> got-$FORKHESTRA_STEP'
  const item = (name: string) => ({ agent: './agent', name, prompt: `touch ${name}; ${wait}` })
  const chain = [{ parallel: [item('one'), item('two')] }]
  const cwd = makeChain(chain, { agent: sh('eval "$1"') })
  const running = startChain(cwd)
  await fileIn(cwd, 'one')
  await fileIn(cwd, 'two')
  const [run] = runsOf(cwd)
  const env = {
    FORKHESTRA_RUN_ID: run!,
    FORKHESTRA_RECORD: join(cwd, 'forge/orch/runs', run!),
    FORKHESTRA_AGENT_NAME: 'one',
  }
  {
    await using one = await McpClient.start(cwd, { env })
    expect(await one.call('send', { to: 'two', message: 'hello' })).toBe('{"sent":"two"}')
    const task = { name: 't', prompt: 'echo "for $FORKHESTRA_PARENT_NAME"' }
    expect(await one.call('push', task)).toBe('{"name":"t"}')
    expect(await one.call('run')).toBe('{"started":["t"],"held":0}')
    const { messages } = await one.ask('receive', { from: ['t'] })
    expect(messages).toMatchObject([{ from: 't', output: 'for one' }])
  }
  const wrong = { ...env, FORKHESTRA_AGENT_NAME: 'three' }
  const refused = await forkhestra(['check'], { cwd, env: wrong })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain("Cannot tell which task 'three' belongs to")
  writeFileSync(join(cwd, 'go'), '')
  expect((await running.finished).code).toBe(0)
  expect(readFileSync(join(cwd, 'got-2'), 'utf8')).toBe('[one] hello\n')
  expect(await problemsOf(cwd)).toEqual([])
})

test('claude gets a server that acts for its copy', async () => {
  const claude = sh(
    'printf "%s\\n" "$@" > "args-$FORKHESTRA_AGENT_NAME"',
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
  )
  const agents = { lead: { systemPromptText: 'Lead.', queue: true } }
  const chains = { c: { steps: [{ agent: 'lead', copies: 2, prompt: 'Go' }] } }
  const cwd = makeProject({ claude, 'forge/orch/chains.json': JSON.stringify({ agents, chains }) })
  const env = { IS_SANDBOX: '1' }
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd, env })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  for (const name of ['lead#1', 'lead#2'])
    expect(readFileSync(join(cwd, `args-${name}`), 'utf8')).toContain(
      `"FORKHESTRA_AGENT_NAME":"${name}"`,
    )
})
