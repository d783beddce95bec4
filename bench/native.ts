import { appendFileSync, readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Figure } from './figure.ts'
import { environment, makeProject, type Programs } from './project.ts'
import { median } from './queue/median.ts'
import { fastest } from './startup.ts'

const ROUNDS = 20
const AGENTS = 50
const MESSAGES = 1000

/** What the built-in agent costs: if it is not used, at its start, in parallel, and at resume. */
export async function measureNative(programs: Programs): Promise<Figure[]> {
  return [
    measureBystander(programs),
    await measureFirstRequest(programs.forkhestra),
    await measureCrowd(programs.forkhestra),
    await measureResume(programs.forkhestra),
  ]
}

/** The same file contains the libraries of the providers. */
function measureBystander({ forkhestra, empty }: Programs): Figure {
  const commands = { empty: [empty], version: [forkhestra, '--version'] }
  const best = fastest(commands, makeProject({}))
  return {
    group: 'native',
    name: 'forkhestra --version, with the libraries of all providers in the program',
    measured: best.version,
    unit: 'ms',
    base: best.empty,
    limit: 1.5,
  }
}

const configuration = (more: object = {}) => {
  // The long conversation has more turns than the default limit.
  const nat = { engine: 'native', model: 'sonnet', maxTurns: 10_000 }
  return JSON.stringify({ agents: { nat }, chains: {}, ...more })
}

/** A model that accepts every request and never answers. */
class SilentModel {
  readonly #server: Server
  #count = 0
  #onRequest: () => void = () => undefined
  /** Length of the last request. */
  lastBytes = 0

  constructor() {
    this.#server = createServer((request) => {
      this.lastBytes = 0
      request.on('data', (chunk: Buffer) => (this.lastBytes += chunk.length))
      request.on('end', () => {
        this.#count += 1
        this.#onRequest()
      })
    })
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  get env(): Record<string, string> {
    const { port } = this.#server.address() as AddressInfo
    return { ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: 'none' }
  }

  /** Resolves at the n-th request from now on. */
  requests(count: number): Promise<void> {
    this.#count = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onRequest = () => {
      if (this.#count >= count) resolve()
    }
    return promise
  }

  stop(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** Starts the program, waits for requests, inspects the process, and kills it. */
async function untilRequests<Seen>(
  argv: readonly string[],
  cwd: string,
  model: SilentModel,
  count: number,
  look: (pid: number, ms: number) => Seen,
): Promise<Seen> {
  const arrived = model.requests(count)
  const began = performance.now()
  const child = Bun.spawn([...argv], {
    cwd,
    env: { ...environment(cwd), ...model.env },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const early = child.exited.then((code) => {
    throw new Error(`${argv.join(' ')} ended with ${code} before its requests`)
  })
  await Promise.race([arrived, early])
  const seen = look(child.pid, performance.now() - began)
  child.kill('SIGKILL')
  await early.catch(() => undefined)
  return seen
}

async function measureFirstRequest(forkhestra: string): Promise<Figure> {
  const model = new SilentModel()
  await model.start()
  const cwd = makeProject({ 'forge/orch/chains.json': configuration() })
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const argv = [forkhestra, 'nat', '-p', 'Go']
    times.push(await untilRequests(argv, cwd, model, 1, (_, ms) => ms))
  }
  model.stop()
  return {
    group: 'native',
    name: 'from the start to the first request (median)',
    measured: median(times),
    unit: 'ms',
    limit: 150,
  }
}

async function measureCrowd(forkhestra: string): Promise<Figure> {
  const model = new SilentModel()
  await model.start()
  const pushes = Array.from(
    { length: AGENTS },
    (_, index) => `/push name=t${index} "Task ${index}"`,
  )
  const cwd = makeProject({
    'forge/orch/chains.json': configuration({ queueLimits: { running: AGENTS } }),
    'prompt.md': [...pushes, '/run', 'Wait for them.'].join('\n'),
  })
  const argv = [forkhestra, 'nat', '--prompt-file', 'prompt.md']
  const bytes = await untilRequests(argv, cwd, model, AGENTS + 1, peakOf)
  model.stop()
  return {
    group: 'native',
    name: `${AGENTS} sub-agents and their parent, all waiting for a slow model (peak)`,
    measured: bytes / 1e6,
    unit: 'MB',
    limit: 300,
  }
}

function peakOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

/** Resumes the record of a process that was killed after this many messages. */
async function measureResume(forkhestra: string): Promise<Figure> {
  const model = new SilentModel()
  await model.start()
  const cwd = makeProject({ 'forge/orch/chains.json': configuration() })
  await untilRequests([forkhestra, 'nat:1', '-p', 'Go'], cwd, model, 1, () => undefined)
  appendFileSync(conversationIn(cwd), longConversation())
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    times.push(await untilRequests([forkhestra, 'resume'], cwd, model, 1, (_, ms) => ms))
  }
  if (model.lastBytes < 0.9 * longConversation().length)
    throw new Error(`it began anew: ${model.lastBytes}`)
  model.stop()
  return {
    group: 'native',
    name: `forkhestra resume with a conversation of ${MESSAGES} messages, to its next request (median)`,
    measured: median(times),
    unit: 'ms',
    limit: 200,
  }
}

function conversationIn(cwd: string): string {
  const files = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
  return join(
    cwd,
    files.find((path) => path.endsWith('.conversation.ndjson'))!,
  )
}

/** Alternating tool calls and results. */
function longConversation(): string {
  const answer = 'a line of what a command printed\n'.repeat(40)
  const tokens = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0 }
  const lines = Array.from({ length: MESSAGES / 2 }, (_, index) => {
    const call = {
      type: 'call',
      id: `c${index}`,
      name: 'bash',
      input: { command: `make ${index}` },
    }
    const parts = [{ type: 'text', text: 'What I do now, and why.' }, call]
    const result = { type: 'result', id: `c${index}`, name: 'bash', text: answer }
    return [{ type: 'assistant', parts, tokens, costUsd: 0.001 }, result]
  })
  return lines
    .flat()
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
}
