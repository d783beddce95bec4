import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { RanCommand } from '../events/attempts.ts'
import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { keyOfScope } from '../events/tree.ts'
import { readTextIn } from './inside.ts'
import { iterationPath, scopeKey, promptPath, type IterationPlace } from './paths.ts'
import { eventsPath, readEvents } from './read-run.ts'

/**
 * Everything known about a finished attempt of an iteration, with secrets masked;
 * docs/reference/records.md describes the fields.
 */
export type Receipt = ReturnType<typeof makeReceipt>

/** The fields of a running iteration that its receipt needs. */
interface OpenIteration {
  readonly started: EventOf<'iteration_started'>
  readonly commands: RanCommand[]
}

/** Collects what the receipts of the running iterations need. */
export class OpenIterations {
  readonly #open = new Map<string, OpenIteration>()

  note(event: RunEvent): void {
    if (event.type === 'iteration_started') {
      this.#open.set(scopeKey(event.scope), { started: event, commands: [] })
    } else if (event.type === 'command') this.#noteCommand(event)
  }

  find(scope: readonly string[]): OpenIteration | undefined {
    return this.#open.get(scopeKey(scope))
  }

  /** The receipt of an iteration, which is closed. */
  end(folder: string, event: EventOf<'iteration_ended'>, log: string | undefined): Receipt {
    const open = this.find(event.scope)
    this.#open.delete(scopeKey(event.scope))
    return makeReceipt(folder, open, event, log)
  }

  #noteCommand({ step, scope, iteration, ...event }: EventOf<'command'>): void {
    const { role, command, result, detail, ms, tail } = event
    for (const { started, commands } of this.#open.values()) {
      if (started.step !== step || started.iteration !== iteration) continue
      if (keyOfScope(started.scope) !== keyOfScope(scope)) continue
      commands.push({ role, command, result, detail, ms, tail })
    }
  }
}

function makeReceipt(
  folder: string,
  open: OpenIteration | undefined,
  ended: EventOf<'iteration_ended'>,
  log: string | undefined,
) {
  const { run, scope, step, round = 1, iteration, attempt, outcome, again, ends, ms, at } = ended
  const { started, commands = [] } = open ?? {}
  const { prompt, promptHash: hash } = started ?? {}
  const path = hash === undefined ? undefined : keptPath(folder, hash)
  return {
    schema: 1 as const,
    run,
    scope,
    step,
    round,
    iteration,
    attempt,
    argv: started?.argv,
    prompt: prompt === undefined && hash === undefined ? undefined : { ...prompt, hash, path },
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

/** The receipt of an attempt, rebuilt from the events if its file is lost. */
export function readReceipt(folder: string, place: IterationPlace): Receipt | undefined {
  try {
    return parseJson(readTextIn(folder, receiptPath(place))) as Receipt
  } catch {
    return rebuild(folder, place)
  }
}

function rebuild(folder: string, place: IterationPlace): Receipt | undefined {
  if (statOf(eventsPath(folder)) === undefined) return undefined
  const iterations = new OpenIterations()
  const path = iterationPath(place)
  let log: string | undefined
  for (const { event } of readEvents(folder)) {
    iterations.note(event)
    const isOwnOutput = event.type === 'output' && event.task === undefined
    if (isOwnOutput && iterationPath(event) === path) log = event.log
    if (event.type !== 'iteration_ended') continue
    const receipt = iterations.end(folder, event, log)
    if (iterationPath(event) === path) return receipt
  }
  return undefined
}

export function receiptPath(place: IterationPlace): string {
  return `${iterationPath(place)}.json`
}
