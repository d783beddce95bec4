import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import type { EventOf } from '../events/event.ts'
import type { Changes, End, Outcome, Usage } from '../events/schema.ts'
import { iterationPath, promptPath, type IterationPlace } from './paths.ts'

/** A gate or another command of the configuration that ran in the iteration. */
export type CommandReceipt = Pick<
  EventOf<'command'>,
  'role' | 'command' | 'result' | 'detail' | 'ms' | 'tail'
>

/** Everything known about a finished attempt of an iteration. Secrets are masked. */
export interface Receipt {
  readonly schema: 1
  readonly run: string
  readonly step: number
  /** How many times the step has been started. */
  readonly round: number
  readonly iteration: number
  readonly attempt: number
  /** The exact command; absent if nothing could be started. */
  readonly argv?: readonly string[] | undefined
  /** Absent if there was no prompt. */
  readonly prompt?: {
    readonly level?: string | undefined
    /** The source file; absent for inline text. */
    readonly file?: string | undefined
    /** SHA-256 of the text that the agent got. */
    readonly hash?: string | undefined
    /** File with the text, inside of the record. */
    readonly path?: string | undefined
  }
  readonly outcome: Outcome
  /** Absent if the agent did not exit by itself. */
  readonly exitCode?: number | undefined
  /** True if the attempt does not count and is repeated. */
  readonly again?: boolean | undefined
  /** How the step ended, if this iteration ended it. */
  readonly ends?: End | undefined
  readonly startedAt: string
  readonly endedAt: string
  readonly ms: number
  /** The agent's own session id. */
  readonly session?: string | undefined
  readonly model?: string | undefined
  readonly turns?: number | undefined
  readonly tokens?: Usage['tokens']
  /** With a subscription, what the API would have charged. */
  readonly costUsd?: number | undefined
  readonly billing?: Usage['billing']
  /** How many tool calls were denied. */
  readonly denied?: number | undefined
  /** Changes in the git repository. */
  readonly changes?: Changes | undefined
  readonly commands: readonly CommandReceipt[]
  /** Tasks that the agent worked on. */
  readonly tasks: readonly string[]
  /** Bytes printed on both streams, including those that are not in the log. */
  readonly outputBytes: number
  /** Log file inside of the record; absent if the agent printed nothing. */
  readonly log?: string | undefined
}

/** A running iteration, as far as its receipt needs it. */
export interface OpenIteration {
  readonly started: EventOf<'iteration_started'>
  readonly commands: CommandReceipt[]
}

export function makeReceipt(
  folder: string,
  open: OpenIteration | undefined,
  ended: EventOf<'iteration_ended'>,
  log: string | undefined,
): Receipt {
  const { run, step, round = 1, iteration, attempt, outcome, again, ends, ms, at } = ended
  const { started, commands = [] } = open ?? {}
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
