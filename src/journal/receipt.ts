import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import type { EventOf } from '../events/event.ts'
import type { Changes, End, Outcome, Usage } from '../events/schema.ts'
import { iterationPath, promptPath, type IterationPlace } from './places.ts'

/** A gate or another command of the configuration that ran in the iteration. */
export type CommandReceipt = Pick<
  EventOf<'command'>,
  'role' | 'command' | 'result' | 'detail' | 'ms' | 'tail'
>

/** All that is known of one attempt of an iteration once it is over. Secrets are masked. */
export interface Receipt {
  readonly schema: 1
  readonly run: string
  readonly step: number
  /** How often the step was begun. */
  readonly round: number
  readonly iteration: number
  readonly attempt: number
  /** The exact command; absent where nothing could be started. */
  readonly argv?: readonly string[] | undefined
  /** Absent: no prompt. */
  readonly prompt?: {
    readonly level?: string | undefined
    /** The file it came from; absent where it is an inline text. */
    readonly file?: string | undefined
    /** SHA-256 of what the agent was given. */
    readonly hash?: string | undefined
    /** The text itself, in the folder of the run. */
    readonly path?: string | undefined
  }
  readonly outcome: Outcome
  /** Absent where the agent did not exit by itself. */
  readonly exitCode?: number | undefined
  /** True where it does not count and is repeated. */
  readonly again?: boolean | undefined
  /** Where the step ends with it: how. */
  readonly ends?: End | undefined
  readonly startedAt: string
  readonly endedAt: string
  /** Duration. */
  readonly ms: number
  /** Id by which the agent itself knows the session. */
  readonly session?: string | undefined
  readonly model?: string | undefined
  readonly turns?: number | undefined
  readonly tokens?: Usage['tokens']
  /** With a subscription, what the API would have taken. */
  readonly costUsd?: number | undefined
  readonly billing?: Usage['billing']
  /** How many calls of tools nobody allowed. */
  readonly denied?: number | undefined
  /** What it did to the git repository. */
  readonly changes?: Changes | undefined
  readonly commands: readonly CommandReceipt[]
  /** Tasks that the agent worked at. */
  readonly tasks: readonly string[]
  /** What the agent printed, on both streams, also where the log does not hold all of it. */
  readonly outputBytes: number
  /** In the folder of the run; absent where the agent printed nothing. */
  readonly log?: string | undefined
}

/** What an iteration has told up to its end. */
interface Told {
  readonly started: EventOf<'iteration_started'>
  readonly commands: readonly CommandReceipt[]
}

export function makeReceipt(
  folder: string,
  told: Told | undefined,
  ended: EventOf<'iteration_ended'>,
  log: string | undefined,
): Receipt {
  const { run, step, round = 1, iteration, attempt, outcome, again, ends, ms, at } = ended
  const { started, commands = [] } = told ?? {}
  const { prompt, promptHash: hash } = started ?? {}
  const hasPrompt = prompt !== undefined || hash !== undefined
  const path = hash === undefined ? undefined : keptPath(folder, hash)
  return {
    schema: 1,
    run,
    step,
    round,
    iteration,
    attempt,
    argv: started?.argv,
    ...(hasPrompt ? { prompt: { ...prompt, hash, path } } : {}),
    outcome,
    exitCode: outcome.kind === 'exited' ? outcome.code : undefined,
    again,
    ends,
    startedAt: started?.at ?? new Date(Date.parse(at) - ms).toISOString(),
    endedAt: at,
    ms,
    ...ended.usage,
    changes: ended.changes,
    commands,
    tasks: ended.tasks ?? [],
    outputBytes: ended.outputBytes,
    log,
  }
}

function keptPath(folder: string, hash: string): string | undefined {
  const path = promptPath(hash)
  return statOf(join(folder, path)) === undefined ? undefined : path
}

export function receiptPath(folder: string, place: IterationPlace): string {
  return join(folder, `${iterationPath(place)}.json`)
}
