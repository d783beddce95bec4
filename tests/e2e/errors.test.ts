import { expect, test } from 'bun:test'
import type { Outcome } from '../../src/records/events/schema.ts'
import { sh } from '../support/project.ts'
import { attempts, eventsOf, openStage, outcomes, reasons } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

/** An answer of the API that is none. */
function fails(status: number, message: string, headers: Record<string, string> = {}) {
  return { error: { status, message, headers } }
}

test.each([
  [401, 'bad key', 'Failed to authenticate. API Error: 401 bad key'],
  [403, 'no access', 'Failed to authenticate. API Error: 403 no access'],
  [400, 'Your credit balance is too low to access the API.', 'Credit balance is too low'],
])(
  'status %d ends the chain at once, for asking again does not help',
  async (status, message, says) => {
    const script = [fails(status, message), DONE]
    await using stage = await openStage({ script, ...writes() })
    const { code, stdout, stderr } = await stage.run('--chain', 'w')
    expect(stdout).toContain(`Iteration 1/3\n${says}\n`)
    expect(stdout).toEndWith(`
  1. writer: incomplete (0/3 iterations, ${says})
[forkhestra] Chain incomplete (0/1 steps)
[forkhestra] Failed at step 1: writer (auth: ${says})
`)
    expect(stderr).toStartWith(`[forkhestra] Iteration 1/3: authentication failed: ${says}\n`)
    expect([code, stage.asks.length]).toEqual([1, 1])
  },
)

test('--json reports the reason auth for a refused key', async () => {
  await using stage = await openStage({ script: [fails(401, 'bad key')], ...writes() })
  const result = await stage.runJson('--chain', 'w')
  const error = 'Failed to authenticate. API Error: 401 bad key'
  expect(outcomes(result)).toEqual([{ kind: 'auth_failed', error }])
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({ reason: 'auth', detail: error })
})

test('an unknown model ends the chain at once', async () => {
  const script = [fails(404, 'model: no-such'), fails(404, 'model: no-such'), DONE]
  await using stage = await openStage({ script, ...writes({ model: 'claude-no-such-1' }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([
    {
      kind: 'auth_failed',
      error: expect.stringContaining('issue with the selected model (claude-no-such-1)'),
    },
  ])
  expect([result.code, reasons(result)]).toEqual([1, ['auth']])
})

test('a temporary failure is retried and counts no iteration', async () => {
  const script = [
    fails(429, 'slow down'),
    fails(429, 'come back later', { 'retry-after': '3600' }),
    fails(529, 'Overloaded'),
    fails(500, 'Internal server error'),
    DONE,
  ]
  const step = { iterations: 1, retry: { attempts: 5, backoff: '10ms' } }
  await using stage = await openStage({ script, ...writes({}, step) })
  const result = await stage.runJson('--chain', 'w')
  const overloaded = (error: string): Outcome => ({
    kind: 'overloaded',
    error: expect.stringContaining(`API Error: ${error}`),
  })
  expect(outcomes(result)).toEqual([
    overloaded('Request rejected (429) · slow down'),
    overloaded('Request rejected (429) · come back later'),
    overloaded('529 Overloaded'),
    overloaded('500 Internal server error'),
    { kind: 'marker' },
  ])
  expect(eventsOf(result, 'waiting').map(({ why }) => why)).toEqual(Array(4).fill('retry'))
  expect(attempts(result)).toEqual(['1.1 again', '1.2 again', '1.3 again', '1.4 again', '1.5'])
  expect(eventsOf(result, 'step_ended')[0]).toMatchObject({ reason: 'marker', iterations: 1 })
  expect([result.code, stage.asks.length]).toEqual([0, 5])
})

test('an agent that runs once fails on an overloaded model and reports why', async () => {
  const step = { retry: { attempts: 2, backoff: '10ms' } }
  const script = [fails(529, 'Overloaded'), fails(529, 'Overloaded'), DONE]
  await using stage = await openStage({ script, ...writes({}, step) })
  const { code, stdout } = await stage.run('--chain', 'w')
  expect(stdout).toMatch(
    /\[forkhestra\] Done: writer \(temporarily unavailable: API Error: 529 Overloaded\./,
  )
  expect(stdout).toMatch(
    /\[forkhestra\] Failed at step 1: writer \(temporarily unavailable: API Error: 529/,
  )
  expect(stdout).toEndWith(' (2 tries))\n')
  expect([code, stage.asks.length]).toEqual([1, 2])
})

test('claude itself retries a request after a short refusal', async () => {
  const script = [fails(429, 'slow down', { 'retry-after': '1' }), DONE]
  const env = { CLAUDE_CODE_MAX_RETRIES: '1' }
  await using stage = await openStage({ script, env, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
  expect(stage.asks).toHaveLength(2)
})

test('a broken stream is retried, and half a marker does not count', async () => {
  const script = [{ text: 'Half a page.\nORCHESTRA_COM', drop: true as const }, { text: 'A page.' }]
  await using stage = await openStage({ script, ...writes({}, { iterations: 1 }) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: 0 }])
  expect(stage.asks).toHaveLength(2)
})

test('a connection that always breaks is not retried forever', async () => {
  const drops = Array.from({ length: 12 }, () => ({ drop: true as const }))
  const step = { iterations: 1, retry: { attempts: 1 } }
  await using stage = await openStage({ script: drops, ...writes({}, step) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'overloaded', error: expect.any(String) }])
  expect(reasons(result)).toEqual(['agent_failed'])
})

test('reaching maxTurns is not a failure of the agent', async () => {
  const tool = bash('true')
  const script = [{ tool }, { tool }, DONE]
  await using stage = await openStage({ script, ...writes({ maxTurns: 2 }) })
  const { code, stdout, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toBe(
    '[forkhestra] Iteration 1/3: out of turns: Reached maximum number of turns (2)\n',
  )
  expect(stdout).toContain('Complete after 2 iterations')
  expect(code).toBe(0)
})

test.each([0, 3])('is_error is a failure, even with exit code %d', async (exit) => {
  const event = { type: 'result', subtype: 'success', is_error: true, result: 'It broke.' }
  const claude = sh(`echo '${JSON.stringify(event)}'`, `exit ${exit}`)
  await using stage = await openStage({ script: [DONE], files: { claude }, ...writes({}, {}) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'exited', code: exit, error: 'It broke.' }])
  expect([result.code, reasons(result)]).toEqual([1, ['agent_failed']])
})

test('without a login the chain ends with a hint', async () => {
  const env = { ANTHROPIC_API_KEY: '' }
  await using stage = await openStage({ script: [DONE], env, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([
    { kind: 'auth_failed', error: expect.stringContaining('Not logged in') },
  ])
  expect([reasons(result), stage.asks]).toEqual([['auth'], []])
})

test('an error of claude itself is also shown in a loop', async () => {
  const agent = { args: ['--no-such-option'] }
  await using stage = await openStage({ script: [DONE], ...writes(agent, { iterations: 1 }) })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toContain('no-such-option')
  expect(stderr).toContain('[forkhestra] Iteration 1/1: exit 1\n')
  expect([code, stage.asks]).toEqual([1, []])
})

test('an unreadable file for claude is refused before anything starts', async () => {
  const files = { 'mcp.json': '{ "mcpServers": ' }
  const agent = { mcpConfig: 'mcp.json' }
  await using stage = await openStage({ script: [DONE], files, ...writes(agent) })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(stderr).toContain("Agent 'writer': mcp.json is not valid JSON.")
  expect([code, stage.asks]).toEqual([2, []])
})

test('a killed claude is an outcome, and the next iteration starts a new one', async () => {
  const script = [{ tool: bash('kill -KILL $PPID') }, DONE]
  await using stage = await openStage({ script, ...writes() })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'signalled', signal: 'SIGKILL' }, { kind: 'marker' }])
  expect(result.code).toBe(0)
})
