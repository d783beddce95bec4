import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { readReceipt } from '../../src/records/journal/receipt.ts'
import { runsOf } from '../support/record.ts'
import { SUBSCRIPTION } from './support/limits.ts'
import { must } from './support/project-of-tasks.ts'
import { openStage, type Stage } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const USAGE = { input: 1000, output: 200, cacheRead: 30, cacheWrite: 4 }

function receiptOf(stage: Stage, iteration: number) {
  const [run = ''] = runsOf(stage.cwd)
  return readReceipt(join(stage.cwd, 'forge/orch/runs', run), { step: 1, iteration })
}

test('a receipt has prompt, actions and usage of an iteration', async () => {
  const work = bash('echo one >a.txt; git add a.txt; git commit -q -m "A page"; echo two >b.txt')
  const script = [
    { tool: work, usage: USAGE },
    { ...DONE, usage: USAGE },
  ]
  const verify = ['test -f a.txt', 'test -f b.txt']
  const files = { '.gitignore': 'forge/orch/runs/\n' }
  await using stage = await openStage({ script, files, ...writes({}, { iterations: 3, verify }) })
  await must(stage, 'git init -q -b main && git add -A && git commit -q -m "Begin"')
  expect((await stage.run('--chain', 'w')).code).toBe(0)
  expect(receiptOf(stage, 1)).toMatchObject({
    step: 1,
    iteration: 1,
    attempt: 1,
    argv: expect.arrayContaining(['--print', 'Write.']),
    prompt: { level: 'step', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    outcome: { kind: 'marker' },
    ends: { reason: 'marker' },
    session: expect.stringMatching(/^[0-9a-f-]{36}$/),
    model: expect.stringContaining('sonnet'),
    turns: 2,
    tokens: { input: 2000, output: 400, cacheRead: 60, cacheWrite: 8 },
    costUsd: expect.any(Number),
    billing: 'api',
    changes: {
      head: await must(stage, 'git rev-parse HEAD'),
      commits: 1,
      files: ['a.txt', 'b.txt'],
      fileCount: 2,
    },
    commands: verify.map((command) => ({ role: 'verify', command, result: 'ok' })),
  })
  const shown = await must(stage, 'forkhestra show --step 1 --iteration 1')
  for (const words of [String(receiptOf(stage, 1)?.session), 'a.txt', 'test -f b.txt']) {
    expect(shown).toContain(words)
  }
})

test('subscription usage is labelled in summary, record and table', async () => {
  const usage = { input: 200_000, output: 20_000 }
  await using stage = await openStage({
    script: [{ ...DONE, usage }],
    env: SUBSCRIPTION,
    ...writes(),
  })
  const { stdout } = await stage.run('--chain', 'w')
  expect(stdout).toMatch(/Spent: .* s, 1 iteration, 220\.0k tokens, \$0\.60 \(API-equivalent\)\n$/)
  expect(receiptOf(stage, 1)).toMatchObject({ billing: 'subscription', model: expect.any(String) })
  const table = await must(stage, 'forkhestra cost --by agent')
  expect(table).toMatch(/writer +1 +200\.0k +20\.0k .* \$0\.60 +API-equivalent\n/)
  expect(table).toContain('what the API would have charged')
})

test('neither the token of a subscription nor a secret of a prompt is in the record', async () => {
  const secret = 'hunter2-and-more'
  const script = [{ tool: bash('echo "$MY_SECRET"') }, DONE]
  const env = { ...SUBSCRIPTION, MY_SECRET: secret }
  await using stage = await openStage({ script, env, ...writes() })
  const { code, stdout } = await stage.run('--chain', 'w', '--verbose', '-p', `Say ${secret}.`)
  expect([code, stage.asks[0]?.prompt]).toEqual([0, `Say ${secret}.`])
  expect(stage.asks[1]?.results).toEqual([secret])
  expect(stdout).not.toContain(secret)
  const words = [secret, SUBSCRIPTION.CLAUDE_CODE_OAUTH_TOKEN]
  for (const word of words) {
    expect((await stage.shell(`grep -rlF '${word}' forge/orch/runs`)).stdout).toBe('')
  }
})
