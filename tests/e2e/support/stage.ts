import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '../../../src/records/events/event.ts'
import type { RunEvent } from '../../../src/records/events/schema.ts'
import type { ScriptSource } from '../../../src/fake-model/script-schema.ts'
import { startFakeModel, type FakeModel } from '../../../src/fake-model/server.ts'
import { environment, FORKHESTRA, Running, type Finished } from '../../support/forkhestra.ts'
import { makeProject, type Files } from '../../support/project.ts'
import { readAsk, type Ask } from './ask.ts'

const CLAUDE_FOLDER = join(import.meta.dir, '../node_modules/.bin')
export const CLAUDE = join(CLAUDE_FOLDER, 'claude')

// Otherwise a `claude` of the machine would be found.
if (!existsSync(CLAUDE))
  throw new Error('claude is missing: node scripts/bun.mjs scripts/install-e2e.ts')

interface Setting {
  readonly script: ScriptSource
  readonly agents?: Readonly<Record<string, unknown>>
  readonly chains?: Readonly<Record<string, unknown>>
  readonly files?: Files
  readonly env?: Readonly<Record<string, string>>
}

/** The result of a run with --json. */
export interface JsonResult {
  readonly code: number
  readonly stderr: string
  readonly events: readonly RunEvent[]
}

/** A project with the real `claude` on PATH, which calls a scripted model. */
export class Stage implements AsyncDisposable {
  readonly cwd: string
  readonly home: string
  /** The folder for temporary files of all processes. */
  readonly temp: string
  readonly model: FakeModel
  /** Resolves at the first request. */
  readonly asked: Promise<void>
  readonly env: Readonly<Record<string, string>>

  constructor(model: FakeModel, asked: Promise<void>, setting: Setting) {
    const { agents, chains, files = {}, env = {} } = setting
    this.model = model
    this.asked = asked
    this.cwd = makeProject({ ...configuration(agents, chains), ...files })
    this.home = makeProject()
    this.temp = join(this.home, 'tmp')
    mkdirSync(this.temp)
    this.env = {
      ...model.env,
      PATH: `${this.cwd}:${CLAUDE_FOLDER}:${process.env['PATH']}`,
      HOME: this.home,
      TMPDIR: this.temp,
      XDG_STATE_HOME: join(this.home, 'state'),
      XDG_CONFIG_HOME: join(this.home, 'config'),
      // `claude` refuses to run unattended as root without this.
      IS_SANDBOX: '1',
      ...GIT,
      ...env,
    }
  }

  start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Running {
    return new Running(args, { cwd: this.cwd, env: { ...this.env, ...env } })
  }

  /** Runs the program with output for people. */
  run(...args: readonly string[]): Promise<Finished> {
    return this.start(args).finished
  }

  /** Runs the program with --json. */
  async runJson(...args: readonly string[]): Promise<JsonResult> {
    // Arguments after -- are for the agent.
    const end = args.includes('--') ? args.indexOf('--') : args.length
    return parseResult(await this.run(...args.toSpliced(end, 0, '--json')))
  }

  /** Runs a shell command in the project, with our programs on PATH. */
  async shell(line: string): Promise<Finished> {
    const child = Bun.spawn(['/bin/bash', '-c', line], {
      cwd: this.cwd,
      env: {
        ...environment({ cwd: this.cwd, env: this.env }),
        PATH: `${join(FORKHESTRA, '..')}:${this.env['PATH']}`,
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ])
    return { code, stdout, stderr }
  }

  /** Where `claude` keeps the MCP servers and choices of the user. */
  get userState(): string {
    return join(this.home, '.claude.json')
  }

  /** The requests to the model, in order. */
  get asks(): readonly Ask[] {
    return this.model.requests.flatMap(readAsk)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.model.stop()
  }
}

/** A fixed git identity, without the user's settings. */
const GIT = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
}

function configuration(agents: Setting['agents'], chains: Setting['chains']): Files {
  if (agents === undefined && chains === undefined) return {}
  return { 'forge/orch/chains.json': JSON.stringify({ agents, chains: chains ?? {} }) }
}

export async function openStage(setting: Setting): Promise<Stage> {
  const asked = Promise.withResolvers<void>()
  const model = await startFakeModel(setting.script, {
    onRequest: ({ turn }) => turn !== undefined && asked.resolve(),
  })
  return new Stage(model, asked.promise, setting)
}

export function parseResult({ code, stdout, stderr }: Finished): JsonResult {
  return { code, stderr, events: parseEvents(stdout) }
}

export function parseEvents(stdout: string): RunEvent[] {
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as RunEvent)
}

export function eventsOf<Type extends RunEvent['type']>(
  { events }: Pick<JsonResult, 'events'>,
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}

/** How each iteration ended. */
export function outcomes(result: JsonResult): EventOf<'iteration_ended'>['outcome'][] {
  return eventsOf(result, 'iteration_ended').map(({ outcome }) => outcome)
}

/** Number and attempt of each iteration, and whether it does not count. */
export function attempts(result: Pick<JsonResult, 'events'>): string[] {
  return eventsOf(result, 'iteration_ended').map(
    ({ iteration, attempt, again }) => `${iteration}.${attempt}${again === true ? ' again' : ''}`,
  )
}

/** Why each step ended. */
export function reasons(result: JsonResult): string[] {
  return eventsOf(result, 'step_ended').map(({ reason }) => reason)
}

/** Removes the time and cost of a run, which differ each time. */
export function withoutSums(stdout: string): string {
  return stdout.replace(/Spent: .*/, 'Spent: …')
}

/** The command of each iteration. */
export function commands(result: JsonResult): (readonly string[])[] {
  return eventsOf(result, 'iteration_started').map(({ argv = [] }) => argv)
}
