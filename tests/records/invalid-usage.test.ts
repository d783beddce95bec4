import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

const ENV = { IS_SANDBOX: '1' }

function makeClaude(usage: string): string {
  return sh(
    `echo '{"type":"result","subtype":"success","is_error":false,"result":"Hi","session_id":"s",${usage}}'`,
  )
}

function makeClaudeProject(usage: string): string {
  const configuration = { agents: { d: { systemPromptText: 'You work.' } }, chains: {} }
  return makeProject({
    claude: makeClaude(usage),
    'forge/orch/chains.json': JSON.stringify(configuration),
  })
}

test.each([
  ['an infinite cost', '"total_cost_usd":1e400'],
  ['a negative cost', '"total_cost_usd":-5'],
  ['an infinite number of turns', '"num_turns":1e400'],
  [
    'tokens that add up to infinity',
    '"modelUsage":{"a":{"inputTokens":1e308,"outputTokens":1e308}}',
  ],
  ['negative tokens', '"modelUsage":{"a":{"inputTokens":-1000000,"outputTokens":1e400}}'],
])('%s counts as not reported, and the record stays readable', async (_, usage) => {
  const cwd = makeClaudeProject(usage)
  const run = await forkhestra(['d:2', '-p', 'Hi', '--max-cost', '1'], { cwd, env: ENV })
  expect(run.stdout).toContain('2/2 iterations')
  expect(run.stderr + run.stdout).not.toMatch(/Infinity|NaN/)
  const { code, stdout } = await forkhestra(['show', '--json'], { cwd, env: ENV })
  expect(code).toBe(0)
  expect(JSON.parse(stdout).spent).toMatchObject({ costUsd: 0, tokens: { input: 0, output: 0 } })
})

test('the queue of an unreadable record is not taken for an empty one', async () => {
  const cwd = makeProject({ agent: sh('true'), 'forge/x': '' })
  const push = await forkhestra(['push', 'agent=agent', 'Hello'], { cwd })
  expect(push.code).toBe(0)
  const [id = ''] = runsOf(cwd)
  const events = join(cwd, 'forge/orch/runs', id, 'events.ndjson')
  writeFileSync(events, '{"type":"run_started","spent":null\n')
  for (const command of ['queue', 'check', 'run-queue']) {
    const { stderr } = await forkhestra([command], { cwd })
    expect(stderr).toContain(`the record of run ${id} cannot be read, so its queue is skipped`)
  }
})
