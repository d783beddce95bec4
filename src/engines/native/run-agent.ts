import { UserError } from '../../base/errors.ts'
import { withContextBlock } from '../context-block.ts'
import type { Fact, Failure, LoopLaunch } from '../engine.ts'
import { MarkerScanner } from '../marker/marker.ts'
import type { Conversation, Scanner, UserMessage } from './conversation.ts'
import type { AgentIo } from './io.ts'
import { ModelError } from './models/ask-model.ts'
import { keyName } from './models/load-model.ts'
import { openConversation } from './open-conversation.ts'

/** One iteration of the built-in agent: it ends with an answer that calls no tools. */
export async function* runAgent(
  launch: LoopLaunch,
  io: AgentIo,
  signal: AbortSignal,
): AsyncGenerator<Fact> {
  const conversation = await open(launch, io)
  if (!('history' in conversation)) return yield conversation
  const { history } = conversation
  let isLimited = false
  try {
    yield { type: 'session', id: history.head.id, model: history.head.model, billing: 'api' }
    if (history.isResumed) {
      const text = `resuming a conversation of ${history.messages.length} messages`
      yield { type: 'notice', text }
    }
    yield* conversation.send(
      history.isResumed ? undefined : userMessageOf(launch, history.head.tools),
      signal,
    )
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ModelError)) throw error
    isLimited = error.failure.kind === 'rate_limited'
    yield { type: 'failure', failure: withKeyName(error.failure, launch, io) }
  } finally {
    history.close(isLimited)
  }
}

/** Adds model and key variable to the message of an authentication failure. */
export function withKeyName(failure: Failure, { agent }: LoopLaunch, { env }: AgentIo): Failure {
  if (failure.kind !== 'auth_failed') return failure
  const name = keyName(agent, env)
  const key = name === undefined ? 'no key' : `key from ${name}`
  return { ...failure, message: `${failure.message}; model ${agent.model}, ${key}` }
}

async function open({ agent, turn }: LoopLaunch, io: AgentIo): Promise<Conversation | Fact> {
  const { systemPrompt = '', prompt = '', reads = [], loop } = turn
  const subject = JSON.stringify([prompt, reads.map(({ path }) => path)])
  const scan: Scanner = (text, isWhole) => scanMessage(text, isWhole, loop)
  try {
    return await openConversation({ agent, systemPrompt, subject, scan }, io)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { type: 'failure', failure: { kind: 'auth_failed', message: error.message } }
  }
}

/** Without a read tool, files become part of the text. */
export function userMessageOf(
  { turn }: LoopLaunch,
  tools: readonly { readonly name: string }[],
): UserMessage {
  const { prompt = '', reads = [] } = turn
  const canRead = tools.some(({ name }) => name === 'read')
  return canRead ? { text: prompt, reads } : { text: withContextBlock(prompt, reads) ?? '' }
}

/** Each message has its own scanner, because code fences do not span messages. */
function scanMessage(text: string, isWhole: boolean, looksForMarker: boolean): readonly Fact[] {
  const scanner = new MarkerScanner({ looksForMarker })
  const facts = scanner.push(Buffer.from(text))
  return isWhole ? [...facts, ...scanner.end()] : facts
}
