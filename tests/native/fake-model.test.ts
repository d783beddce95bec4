import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, FORKHESTRA, Running, shell } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { openNative } from '../support/native.ts'

/** A stand-in for `claude`: sends one request and prints the answer. */
const ASK = `#!${process.execPath}
const response = await fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
  method: 'POST',
  headers: { 'x-api-key': process.env.ANTHROPIC_API_KEY, connection: 'close' },
  body: JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: process.argv.at(-1) }],
  }),
})
const { content, error } = await response.json()
console.log(error?.message ?? content[0].text)
`

const SCRIPT = JSON.stringify([
  { text: 'Working.' },
  { text: 'Done.\nORCHESTRA_COMPLETE' },
  { text: 'never' },
])

const project = () => makeProject({ 'night.jsonc': SCRIPT, ask: ASK })

test('a chain runs against a script, and unused turns are reported', async () => {
  const cwd = project()
  const { code, stdout, stderr } = await shell(
    'forkhestra fake-model night.jsonc -- forkhestra ask:5 -p "Go on"',
    cwd,
  )
  expect(Buffer.from(stdout).toString()).toContain('Complete after 2 iterations')
  expect(stderr).toBe('[forkhestra] fake-model: unused: [2]\n')
  expect(code).toBe(0)
})

test('requests after the last turn get an error, and are reported', async () => {
  const cwd = makeProject({ 'night.jsonc': '[{ "text": "only" }]', ask: ASK })
  const line = 'forkhestra fake-model night.jsonc -- sh -c "ask a; ask b; ask c; exit 3"'
  const { code, stdout, stderr } = await shell(line, cwd)
  expect(Buffer.from(stdout).toString()).toContain('has no answer to this request')
  expect(stderr).toBe(
    '[forkhestra] fake-model: 2 requests had no matching turn: the script has only 1 turn\n',
  )
  expect(code).toBe(3)
})

test('every request is logged with its key masked', async () => {
  const cwd = project()
  await shell('forkhestra fake-model night.jsonc --log log.ndjson -- ask Hello', cwd)
  const log = readFileSync(join(cwd, 'log.ndjson'), 'utf8')
  const [first, ...more] = log.trim().split('\n')
  expect(JSON.parse(first!)).toMatchObject({
    method: 'POST',
    path: '/v1/messages',
    turn: '[0]',
    headers: { 'x-api-key': '***' },
    body: { messages: [{ content: 'Hello' }] },
  })
  expect(more).toEqual([])
})

test('without a command it prints the shell line and serves until a signal', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const running = new Running(['fake-model', 'night.jsonc'], { cwd: project() })
    await running.printed('\n')
    const url = /^export ANTHROPIC_BASE_URL=(http:\/\/127\.0\.0\.1:\d+) .*\n$/.exec(running.stdout)
    expect((await fetch(`${url?.[1]}/api/hello`, { method: 'HEAD' })).status).toBe(200)
    running.signal(signal)
    expect((await running.finished).code).toBe(0)
  }
})

test.each([
  ['SIGTERM', 'exit 7', 7],
  ['SIGINT', 'exit 8', 8],
  ['SIGTERM', 'trap - TERM; kill -TERM $$', 143],
] as const)('%s reaches the command, which decides: %s', async (signal, end, code) => {
  const wait = sh(`trap '${end}' TERM INT`, 'echo ready', 'while :; do sleep 0.05; done')
  const cwd = makeProject({ 'night.jsonc': SCRIPT, wait })
  const running = new Running(['fake-model', 'night.jsonc', '--', 'wait'], { cwd })
  await running.printed('ready')
  running.signal(signal)
  expect((await running.finished).code).toBe(code)
})

test('--check validates the script and serves nothing', async () => {
  const { code, stdout } = await forkhestra(['fake-model', 'night.jsonc', '--check'], {
    cwd: project(),
  })
  expect([code, stdout]).toEqual([0, 'night.jsonc is valid: 3 turns\n'])
})

test.each([
  [[], 'No script given.'],
  [['night.jsonc', 'ask'], "Unexpected argument 'ask'."],
  [['missing.jsonc'], 'Script not found: missing.jsonc'],
  [['.'], '.  is a directory, expected a file.'],
  [['bad.jsonc'], "bad.jsonc:1:4  [0].txt is unknown (did you mean 'text'?)"],
  [['night.jsonc', '--port', '99999'], '--port is "99999", expected a whole number'],
  [['night.jsonc', '--log', 'no/such/log', '--', 'ask'], 'The log cannot be written: ENOENT'],
  [['night.jsonc', '--', 'no-such-command'], "'no-such-command' cannot be started"],
])('%j is refused', async (args, words) => {
  const bad = '[{ "txt": "a", "text": "b" }]'
  const cwd = makeProject({ 'night.jsonc': SCRIPT, 'bad.jsonc': bad, ask: ASK })
  const { code, stdout, stderr } = await forkhestra(['fake-model', ...args], { cwd })
  expect(stderr).toStartWith(`[forkhestra] Error: ${words}`)
  expect([code, stdout]).toEqual([2, ''])
})

test('resume continues the script where it left off', async () => {
  const script = [{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.\nORCHESTRA_COMPLETE' }]
  const cwd = makeProject({ 'night.jsonc': JSON.stringify(script), ask: ASK, 'forge/keep': '' })
  const run = (command: string) => shell(`forkhestra fake-model night.jsonc -- ${command}`, cwd)
  const first = await run('forkhestra ask:2 -p Go')
  expect(first.code).toBe(1)
  const again = await run('forkhestra resume')
  expect(again.stderr).toContain('[forkhestra] fake-model: continuing after 2 turns\n')
  expect(Buffer.from(again.stdout).toString()).toContain('Three.\nORCHESTRA_COMPLETE\n')
  expect(again.code).toBe(0)
  // All else begins with the first turn, also after a run that has something to resume.
  expect(Buffer.from((await run('forkhestra ask:2 -p Go')).stdout).toString()).toContain('One.\n')
  expect(Buffer.from((await run('ask Go')).stdout).toString()).toBe('One.\n')
})

test('a usage limit has a reset time and gives claude a subscription', async () => {
  const cwd = makeProject({
    'night.jsonc': '[{ "limit": "5h" }]',
    ask: sh(
      'echo "${ANTHROPIC_API_KEY:-no key} ${CLAUDE_CODE_OAUTH_TOKEN:+login}"',
      `curl -si -d '{"model":"m","messages":[]}' "$ANTHROPIC_BASE_URL/v1/messages" | tr -d '\\r'`,
    ),
  })
  const { stdout } = await shell('forkhestra fake-model night.jsonc -- ask', cwd)
  const text = Buffer.from(stdout).toString()
  expect(text).toStartWith('no key login\nHTTP/1.1 429 ')
  expect(text).toContain('\nanthropic-ratelimit-unified-status: rejected\n')
  expect(text).toContain('\nanthropic-ratelimit-unified-representative-claim: five_hour\n')
  const reset = Number(/unified-reset: (\d+)/.exec(text)?.[1]) * 1000 - Date.now()
  expect(reset).toBeGreaterThan(5 * 3_600_000 - 60_000)
  expect(reset).toBeLessThan(5 * 3_600_000 + 2000)
})

test.each([
  ['{ "limit": "soon" }', 'expected the time until the limit is reset'],
  ['{ "limit": "5h", "text": "x" }', 'expected either "error" or "limit" alone, or an answer'],
])('%s is not a turn', async (turn, words) => {
  const cwd = makeProject({ 'night.jsonc': `[${turn}]` })
  const { code, stderr } = await forkhestra(['fake-model', 'night.jsonc', '--check'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(words)
})

test('each iteration of a native agent is a new session', async () => {
  const conversation = {
    sessions: [
      [{ tool: { name: 'bash', input: { command: 'true' } } }, { text: 'First.' }],
      [{ error: { status: 529, headers: { 'retry-after-ms': '1' } } }, { text: 'Second.' }],
      [{ text: 'Third.\nORCHESTRA_COMPLETE' }],
    ],
  }
  await using stage = await openNative({ conversations: [conversation] })
  const { code, stdout } = await stage.run('nat:5', '-p', 'Go.')
  expect(stdout.match(/^(First|Second|Third)\.$/gm)).toEqual(['First.', 'Second.', 'Third.'])
  expect([code, stage.model.unused]).toEqual([0, []])
})

test('a plan limit and a native agent: the refusal says why, and what works', async () => {
  const cwd = makeProject({
    'limit.jsonc': '[{ "limit": "5h" }]',
    'forge/orch/chains.json': JSON.stringify({
      chains: {},
      agents: { nat: { engine: 'native', model: 'sonnet', systemPromptText: 'Work.' } },
    }),
  })
  const args = ['fake-model', 'limit.jsonc', '--', FORKHESTRA]
  const { code, stderr } = await forkhestra([...args, 'nat', '-p', 'Go'], { cwd })
  expect(code).toBe(2)
  const why = '"limit" in the script simulates a subscription, which has no API key'
  const instead = '{ "error": { "status": 429, "headers": { "retry-after": "20" } } }'
  expect(stderr).toContain(`${why}.`)
  expect(stderr).toContain(instead)
  expect(stderr).not.toContain('no requests received')
  const doctor = await forkhestra([...args, 'doctor'], { cwd, env: { ANTHROPIC_API_KEY: 'x' } })
  expect(doctor.stdout).toContain(`problem  keys           nat: ${why}\n`)
  expect(doctor.stdout).toContain(instead)
  expect(doctor.stdout).not.toContain('ANTHROPIC_API_KEY')
})

test('a native agent waits for retry-after of a scripted error, and then continues', async () => {
  const cwd = makeProject({
    'wait.jsonc': JSON.stringify([
      { error: { status: 429, headers: { 'retry-after': '1' } } },
      { text: 'Done.\nORCHESTRA_COMPLETE' },
    ]),
    'forge/orch/chains.json': JSON.stringify({
      chains: {},
      agents: { nat: { engine: 'native', model: 'sonnet', systemPromptText: 'Work.' } },
    }),
  })
  const args = ['fake-model', 'wait.jsonc', '--', FORKHESTRA, 'nat:2', '-p', 'Go']
  const { code, stdout } = await forkhestra(args, { cwd })
  expect(stdout).toContain('ORCHESTRA_COMPLETE')
  expect(code).toBe(0)
})
