import { setTimeout as sleep } from 'node:timers/promises'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Fact, Failure } from '../../engines/engine.ts'
import { AnswerBuilder, type Answer } from './answer.ts'
import { BROKE_OFF, BrokenAnswer, readRefusal } from './failure.ts'

/** A limit that lasts longer is waited for by the run, which tells people and can be resumed. */
const LONGEST_WAIT_MS = 60_000
const MOST_TRIES = 5
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8000

/** The model did not answer, and trying again at once would not help. */
export class ModelError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Asks once, and again after what passes soon; tells the words as they come. */
export async function* askModel(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  signal: AbortSignal,
): AsyncGenerator<Fact, Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return yield* askOnce(model, { ...options, abortSignal: signal })
    } catch (error) {
      if (signal.aborted) throw error
      const { failure, again } = readRefusal(error, Date.now())
      const waitMs = again === undefined ? Infinity : (again.afterMs ?? pauseAfter(attempt))
      if (attempt >= MOST_TRIES || waitMs > LONGEST_WAIT_MS) throw new ModelError(failure)
      yield { type: 'notice', text: retryWords(failure, waitMs, attempt) }
      // A limit is reset by the clock, also while this process is stopped.
      await sleep(waitMs, undefined, { signal })
    }
  }
}

/** What is thought, and what a call is made of, is not said. */
const SIGNS_OF_LIFE = new Set(['reasoning-delta', 'tool-input-start', 'tool-input-delta'])

async function* askOnce(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
): AsyncGenerator<Fact, Answer> {
  const builder = new AnswerBuilder()
  const { stream } = await model.doStream(options)
  for await (const piece of stream) {
    const text = builder.take(piece)
    if (text !== '' || SIGNS_OF_LIFE.has(piece.type)) yield { type: 'delta', text }
  }
  if (builder.answer === undefined) throw new BrokenAnswer(BROKE_OFF)
  return builder.answer
}

/** Longer each time, and for each asker a little different. */
function pauseAfter(attempt: number): number {
  const ms = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  return ms / 2 + Math.random() * (ms / 2)
}

function retryWords({ message }: Failure, waitMs: number, attempt: number): string {
  const seconds = (waitMs / 1000).toFixed(1)
  return `the model is asked again in ${seconds} s (${attempt}/${MOST_TRIES - 1}): ${message}`
}
