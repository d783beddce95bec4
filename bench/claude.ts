import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { startFakeModel } from '../src/fake-model/server.ts'
import type { Figure } from './figure.ts'
import { usageOf } from './process.ts'
import { environment, makeProject, type Programs } from './project.ts'

/** What direct agents cost: reading their events, showing their text, and calling the real `claude`. */
export async function measureClaude({ forkhestra }: Programs): Promise<Figure[]> {
  return [
    ...(await measureStream(forkhestra)),
    await measureLatency(forkhestra),
    ...(await measureOverhead(forkhestra)),
  ]
}

const CONFIGURATION = JSON.stringify({
  agents: { direct: { systemPromptText: 'You are a benchmark.' } },
  chains: {},
})

const STREAM_BYTES = 500e6
const PARTS = 10
const STREAM_ROUNDS = 5

const READER = `
const child = Bun.spawn(['./claude'], { stdout: 'pipe' })
const decoder = new TextDecoder()
let rest = ''
let events = 0
for await (const chunk of child.stdout) {
  const lines = (rest + decoder.decode(chunk, { stream: true })).split('\\n')
  rest = lines.pop() ?? ''
  for (const line of lines) if (JSON.parse(line).type !== undefined) events++
}
process.exit(events > 0 ? 0 : 1)
`

/** Writes text, tool calls and their results, which are most of it. */
const PART = `
const words = 'What the agent does now and why, in a sentence or two. '.repeat(4)
const answer = 'a line of what a command printed\\n'.repeat(50)
const lines = []
for (let length = 0, turn = 0; length < ${STREAM_BYTES / PARTS}; turn++) {
  const block =
    turn % 2 === 0
      ? { type: 'text', text: words }
      : { type: 'tool_use', id: 't' + turn, name: 'Bash', input: { command: 'npm test ' + turn } }
  const message = { id: 'm' + turn, role: 'assistant', content: [block] }
  const result = { tool_use_id: 't' + turn, type: 'tool_result', content: answer }
  for (const event of [
    { type: 'assistant', message, parent_tool_use_id: null, session_id: 's' },
    { type: 'user', message: { role: 'user', content: [result] }, session_id: 's' },
  ]) {
    lines.push(JSON.stringify(event))
    length += lines.at(-1).length + 1
  }
}
await Bun.write('part.jsonl', lines.join('\\n') + '\\n')
`

/** A stand-in that prints a long run, compared with a program that only parses each line. */
async function measureStream(forkhestra: string): Promise<Figure[]> {
  const repeat = Array.from({ length: PARTS }, (_, index) => index).join(' ')
  const cwd = makeProject({
    'part.ts': PART,
    claude: `#!/bin/sh\nfor i in ${repeat}; do cat part.jsonl; done\n`,
    'reader.ts': READER,
    'forge/orch/chains.json': CONFIGURATION,
  })
  // In a separate process: children inherit the peak memory of this one.
  await usageOf([process.execPath, 'part.ts'], cwd, 0)
  let [ours, bare, peak] = [Infinity, Infinity, 0]
  for (let round = 0; round < STREAM_ROUNDS; round++) {
    const reader = await usageOf([process.execPath, 'reader.ts'], cwd, 0)
    const run = await usageOf([forkhestra, 'direct:1'], cwd, 1)
    bare = Math.min(bare, reader.cpuSeconds)
    ours = Math.min(ours, run.cpuSeconds)
    peak = Math.max(peak, run.peakBytes)
  }
  const gigabytes = STREAM_BYTES / 1e9
  return [
    {
      group: 'claude',
      name: 'CPU, 500 MB of events, against a bare reader',
      measured: ours / gigabytes,
      unit: 's/GB',
      base: bare / gigabytes,
      limit: 4,
    },
    { group: 'claude', name: 'peak memory', measured: peak / 1e6, unit: 'MB', limit: 150 },
  ]
}

const WORDS_SHOWN = 60

/** From the agent writing a message to the message on our stdout. */
async function measureLatency(forkhestra: string): Promise<Figure> {
  const event = `{"type":"assistant","message":{"id":"%s","content":[{"type":"text","text":"at %s"}]}}`
  const cwd = makeProject({
    claude: `#!/bin/bash\nfor i in {1..${WORDS_SHOWN}}; do printf '${event}\\n' $i $(date +%s%3N); sleep 0.03; done\n`,
    'forge/orch/chains.json': CONFIGURATION,
  })
  const child = Bun.spawn([forkhestra, 'direct'], {
    cwd,
    env: environment(cwd),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const delays: number[] = []
  for await (const chunk of child.stdout) {
    const now = Date.now()
    for (const [, at] of Buffer.from(chunk)
      .toString()
      .matchAll(/^at (\d+)$/gm)) {
      delays.push(now - Number(at))
    }
  }
  if (delays.length !== WORDS_SHOWN) throw new Error(`only ${delays.length} messages were shown`)
  const measured = Math.max(...delays)
  return { group: 'claude', name: 'words shown after, at most', measured, unit: 'ms', limit: 100 }
}

const CLI = join(import.meta.dir, '../tests/e2e/node_modules/.bin/claude')
const CALLS = 15

/** The real `claude` with a scripted model, called by us and directly. Skipped if it is not installed. */
async function measureOverhead(forkhestra: string): Promise<Figure[]> {
  if (!existsSync(CLI)) {
    console.error(`The real claude is not measured: npm ci in tests/e2e installs it.`)
    return []
  }
  const cwd = makeProject({ 'forge/orch/chains.json': CONFIGURATION })
  const model = await startFakeModel({
    conversations: [{ turns: [{ text: 'Done.' }], repeat: true }],
  })
  const env = { ...environment(cwd), ...model.env, IS_SANDBOX: '1', PATH: pathWith(CLI) }
  const ours: number[] = []
  const bare: number[] = []
  const options = '--print --dangerously-skip-permissions --model sonnet --max-turns 100'
  const direct = [
    CLI,
    ...options.split(' '),
    '--output-format',
    'stream-json',
    '--verbose',
    '--',
    'Go',
  ]
  for (let call = 0; call <= CALLS; call++) {
    const [one, other] = [
      await timeOf([forkhestra, 'direct', '-p', 'Go'], cwd, env),
      await timeOf(direct, cwd, env),
    ]
    // The first call in a new home folder takes longer than later ones.
    if (call === 0) continue
    ours.push(one)
    bare.push(other)
  }
  await model.stop()
  return [
    {
      group: 'claude',
      name: 'one iteration with the real claude, against a bare call',
      measured: median(ours),
      unit: 'ms',
      base: median(bare),
      limit: 1.03,
    },
  ]
}

function pathWith(program: string): string {
  return `${join(program, '..')}:${process.env['PATH']}`
}

async function timeOf(
  argv: readonly string[],
  cwd: string,
  env: Record<string, string | undefined>,
): Promise<number> {
  const began = performance.now()
  const child = Bun.spawn([...argv], { cwd, env, stdio: ['ignore', 'ignore', 'ignore'] })
  const code = await child.exited
  if (code !== 0) throw new Error(`${argv[0]} ended with ${code}`)
  return performance.now() - began
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
