import { setTimeout as sleep } from 'node:timers/promises'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Fact, Failure } from '../../engine.ts'
import { AnswerBuilder, type Answer } from './answer.ts'
import { BROKE_OFF, BrokenAnswer, classifyFailure } from './failure.ts'

/** Longer limits are left to the run, which reports them and can be resumed. */
const LONGEST_WAIT_MS = 60_000
const MOST_TRIES = 5
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8000

/** The model did not answer, and a retry right now would not help. */
export class ModelError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

/** Sends a request, retries it after short problems, and yields the answer as it streams. */
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
      const { failure, retry } = classifyFailure(error, Date.now())
      const waitMs = retry === undefined ? Infinity : (retry.afterMs ?? pauseAfter(attempt))
      if (attempt >= MOST_TRIES || waitMs > LONGEST_WAIT_MS) throw new ModelError(failure)
      // Wall-clock time: a limit is also reset while this process is suspended.
      const until = Date.now() + waitMs
      yield { type: 'notice', text: describeRetry(failure, waitMs, attempt) }
      await sleep(Math.max(0, until - Date.now()), undefined, { signal })
    }
  }
}

/** Parts without visible text, which still show that the model is working. */
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

/** Exponential backoff with jitter. */
function pauseAfter(attempt: number): number {
  const ms = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  return ms / 2 + Math.random() * (ms / 2)
}

function describeRetry({ message }: Failure, waitMs: number, attempt: number): string {
  const seconds = (waitMs / 1000).toFixed(1)
  return `retrying the request in ${seconds} s (${attempt}/${MOST_TRIES - 1}): ${message}`
}
