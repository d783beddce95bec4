import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startFakeModel, type FakeModel } from '../../src/fake-model/server.ts'
import type { ScriptSource } from '../../src/fake-model/script-schema.ts'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { forkhestra, Running, type Finished } from './forkhestra.ts'
import { makeProject, type Files } from './project.ts'
import { journalOf, ofType, runsOf } from './record.ts'
import { until } from './until.ts'

/** A project with the built-in agent `nat`, and a scripted model that answers it. */
export interface NativeStage extends AsyncDisposable {
  readonly cwd: string
  readonly model: FakeModel
  run(...args: string[]): Promise<Finished>
  events(...args: string[]): Promise<RunEvent[]>
  start(...args: string[]): Running
}

export interface StageOptions {
  readonly agent?: Readonly<Record<string, unknown>>
  readonly configuration?: Readonly<Record<string, unknown>>
  readonly files?: Files
  readonly env?: Readonly<Record<string, string>>
}

const MODEL = 'anthropic/claude-sonnet-5-5'

export async function openNative(
  script: ScriptSource,
  { agent = {}, configuration = {}, files = {}, env: more = {} }: StageOptions = {},
): Promise<NativeStage> {
  const model = await startFakeModel(script)
  const agents = { nat: { engine: 'native', model: MODEL, ...agent } }
  const cwd = makeProject({
    'forge/orch/chains.json': JSON.stringify({ agents, chains: {}, ...configuration }),
    ...files,
  })
  const env = { ...model.env, ...more }
  return {
    cwd,
    model,
    run: (...args) => forkhestra(args, { cwd, env }),
    start: (...args) => new Running(args, { cwd, env }),
    events: async (...args) => {
      const { stdout } = await forkhestra([...args, '--json'], { cwd, env })
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as RunEvent)
    },
    [Symbol.asyncDispose]: () => model.stop(),
  }
}

/** The part of a Messages API request that tests need. */
export interface Asked {
  readonly system: readonly { readonly text: string; readonly cache_control?: unknown }[]
  readonly tools?: readonly { readonly name: string; readonly cache_control?: unknown }[]
  readonly tool_choice?: { readonly type: string }
  readonly messages: readonly {
    readonly role: string
    readonly content: readonly Readonly<Record<string, unknown>>[]
  }[]
}

/** The requests to the model, in order. */
export function asked({ model }: Pick<NativeStage, 'model'>): Asked[] {
  return model.requests
    .filter(({ path }) => path === '/v1/messages')
    .map(({ body }) => body as Asked)
}

/** The lines of the only saved conversation. */
export function conversationOf(cwd: string): Readonly<Record<string, unknown>>[] {
  const files = readdirSync(cwd, { recursive: true, encoding: 'utf8' })
  const paths = files.filter((path) => path.endsWith('.conversation.ndjson'))
  if (paths.length !== 1) throw new Error(`there are ${paths.length} conversations`)
  const lines = readFileSync(join(cwd, paths[0]!), 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
}

/** The id of the only run, once it waits for the end of a limit. */
export async function untilWaiting(cwd: string): Promise<string> {
  const waits = () => runsOf(cwd).filter((run) => ofType(journalOf(cwd, run), 'waiting').length > 0)
  await until(() => waits().length > 0)
  return waits()[0]!
}
