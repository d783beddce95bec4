import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeMessage, renderStream } from '../../src/fake-model/message.ts'
import { Running } from '../support/forkhestra.ts'
import type { Asked } from '../support/native.ts'
import { makeProject } from '../support/project.ts'
import { SEED, withSeed } from '../support/random.ts'
import { journalOf, runsOf } from '../support/record.ts'

// Every trial lets the built-in agent do five pieces of work, kills forkhestra with SIGKILL at random
// moments, and resumes it. Whenever that was, each request must be one that a provider would take.

const TRIALS = 40
const AT_ONCE = 2
const MOST_KILLS = 5
const PIECES = 5

type Message = Asked['messages'][number]

/** Answers by what was done so far, and looks at every request. */
function startModel() {
  const problems: string[] = []
  let answers = 0
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { messages } = (await request.json()) as Asked
      problems.push(...findProblems(messages))
      answers += 1
      const results = messages.flatMap(({ content }) => content.filter(isResult)).length
      const command = `echo ${results} >>work; sleep 0.01`
      const turn =
        results < PIECES
          ? { text: 'More.', tool: { name: 'bash', input: { command } } }
          : { text: 'ORCHESTRA_COMPLETE' }
      const stream = renderStream(makeMessage(turn, 'm', `${answers}`)).join('')
      return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
    },
  })
  return { server, problems, url: `http://127.0.0.1:${server.port}` }
}

const isResult = (part: Message['content'][number]) => part['type'] === 'tool_result'

/** Roles take turns, and each call is answered in the very next message. */
function findProblems(messages: readonly Message[]): string[] {
  return messages.flatMap(({ role, content }, index) => {
    const next = messages[index + 1]
    const wrong = role === (index % 2 === 0 ? 'user' : 'assistant') ? [] : [`${index} is ${role}`]
    const calls = content.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    const answered = next?.content.filter(isResult).map(({ tool_use_id: id }) => id) ?? []
    return JSON.stringify(calls) === JSON.stringify(answered) || role === 'user'
      ? wrong
      : [...wrong, `calls ${String(calls)} have the answers ${String(answered)}`]
  })
}

async function runTrial(url: string, random: () => number): Promise<void> {
  const agents = { nat: { engine: 'native', model: 'sonnet' } }
  const configuration = JSON.stringify({ agents, chains: {} })
  const cwd = makeProject({ 'forge/orch/chains.json': configuration })
  const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'none' }
  let args = ['nat:1', '-p', 'Go.']
  for (let kills = 0; ; kills += 1) {
    const running = new Running(args, { cwd, env })
    const isKilled = kills < MOST_KILLS
    const timer = isKilled ? setTimeout(() => running.signal('SIGKILL'), random() * 250) : 0
    const { code, stderr } = await running.finished
    clearTimeout(timer)
    const hasBegun = runsOf(cwd).some((run) => journalOf(cwd, run).length > 0)
    if (code === 0) break
    if (!isKilled) throw new Error(`ended with ${code}: ${stderr}`)
    args = hasBegun ? ['resume', '--kill-orphans'] : args
  }
  // The last call before a kill may have been interrupted, and is then reported as such; none is lost.
  const done = readFileSync(join(cwd, 'work'), 'utf8').trim().split('\n').map(Number)
  expect(done).toEqual(done.toSorted((one, other) => one - other))
  expect(new Set(done).size).toBeGreaterThanOrEqual(PIECES - MOST_KILLS)
}

test('a kill at any time leaves a conversation that can be resumed', async () => {
  const { server, problems, url } = startModel()
  try {
    const trials = Array.from({ length: TRIALS }, (_, index) => index)
    const work = async () => {
      for (let trial = trials.pop(); trial !== undefined; trial = trials.pop()) {
        await withSeed(SEED + trial, (random) => runTrial(url, random))
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    expect(problems).toEqual([])
  } finally {
    await server.stop(true)
  }
})
