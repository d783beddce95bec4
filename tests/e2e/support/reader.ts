import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readForPrompt } from '../../../src/chain/prompts/read-files.ts'
import { claudeEngine } from '../../../src/engines/claude/engine.ts'
import type {
  ClaudeAgent,
  Fact,
  FileRead,
  ProcessLaunch,
  Turn,
} from '../../../src/engines/engine.ts'
import { startProcess } from '../../../src/run/process/process.ts'
import { environment } from '../../support/forkhestra.ts'
import { CLAUDE, type Stage } from './stage.ts'

interface Acted {
  readonly code: number | undefined
  readonly facts: readonly Fact[]
  readonly stderr: string
  readonly launch: ProcessLaunch
}

/** What is read for the agent before it is started. */
export function read(stage: Stage, ...paths: readonly string[]): FileRead[] {
  return paths.map((path) => ({ path, ...readForPrompt(path, { cwd: stage.cwd }) }))
}

export function prepare(stage: Stage, turn: Partial<Turn>, agent: Partial<ClaudeAgent> = {}) {
  return claudeEngine.prepare(
    {
      engine: 'claude',
      name: 'reader',
      program: CLAUDE,
      systemPrompt: [],
      model: 'sonnet',
      maxTurns: 10,
      ...agent,
    },
    {
      cwd: stage.cwd,
      args: [],
      prompt: 'The task.',
      systemPrompt: 'You are a reader.',
      loop: true,
      ...turn,
    },
  )
}

/** Starts an agent of the stage as a run does it. */
export async function act(stage: Stage, launch: ProcessLaunch): Promise<Acted> {
  const decoders = { out: launch.decode('out'), err: launch.decode('err') }
  const facts: Fact[] = []
  let stderr = ''
  const { finished } = inFolder(stage.temp, () =>
    startProcess(launch, {
      cwd: stage.cwd,
      env: { ...environment({ cwd: stage.cwd, env: stage.env }), ...launch.env },
      grace: { termMs: 10_000, markerMs: 60_000 },
      limits: { timeoutMs: 60_000 },
      stop: new AbortController().signal,
      force: new AbortController().signal,
      take: (stream, bytes) => {
        if (stream === 'err') stderr += Buffer.from(bytes).toString()
        facts.push(...(decoders[stream]?.push(bytes) ?? []))
      },
    }),
  )
  const exit = await finished
  for (const decoder of [decoders.out, decoders.err]) facts.push(...(decoder?.end() ?? []))
  return { code: exit?.kind === 'exited' ? exit.code : undefined, facts, stderr, launch }
}

/** Ours and the agent's temporary files go to the same place. */
function inFolder<Result>(folder: string, start: () => Result): Result {
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = folder
  try {
    return start()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}

interface Block {
  readonly type: string
  readonly text?: string
  readonly name?: string
  readonly id?: string
  readonly input?: unknown
  readonly content?: unknown
  readonly is_error?: boolean
  readonly tool_use_id?: string
}

interface Said {
  readonly role: string
  readonly blocks: readonly Block[]
}

/** The conversation that a request hands over, without what the CLI says in between. */
export function conversation(stage: Stage, request: number): Said[] {
  const asked = stage.model.requests.filter(({ path }) => path.startsWith('/v1/messages'))
  const { messages } = asked[request]!.body as {
    readonly messages: readonly { role: string; content: string | readonly Block[] }[]
  }
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => ({
      role,
      blocks:
        typeof content === 'string' ? [{ type: 'text', text: content }] : withoutReminders(content),
    }))
}

function withoutReminders(blocks: readonly Block[]): Block[] {
  return blocks.filter(({ text = '' }) => !text.startsWith('<system-reminder>'))
}

/** What the tools answered by then, those of the transcript included. */
export function results(stage: Stage, request: number): Block[] {
  const blocks = conversation(stage, request).flatMap((said) => said.blocks)
  return blocks.filter(({ type }) => type === 'tool_result')
}

export function factsOf(facts: readonly Fact[], type: Fact['type']): Fact[] {
  return facts.filter((fact) => fact.type === type)
}

/** Everything that a session or its temporary files could have left. */
export function leftBehind({ home, temp }: Stage): string[] {
  const projects = join(home, '.claude/projects')
  const sessions = existsSync(projects) ? readdirSync(projects, { recursive: true }) : []
  return [
    ...sessions.map(String).filter((name) => name.endsWith('.jsonl')),
    ...readdirSync(temp).filter((name) => name.startsWith('forkhestra-')),
  ]
}
