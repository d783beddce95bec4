import { UserError } from '../base/errors.ts'
import { withContextBlock } from '../engines/context-block.ts'
import type { Fact, Failure, LoopLaunch } from '../engines/engine.ts'
import { MarkerScanner } from '../engines/marker.ts'
import type { Conversation, Said } from './conversation.ts'
import type { AgentIo } from './io.ts'
import { ModelError } from './models/ask-model.ts'
import { keyName } from './models/load-model.ts'
import { openConversation } from './open-conversation.ts'

/** One turn of the built-in agent for a run: it ends when the agent has nothing more to do. */
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
      const text = `going on with a conversation of ${history.messages.length} messages`
      yield { type: 'notice', text }
    }
    yield* conversation.say(
      history.isResumed ? undefined : saidBy(launch, history.head.tools),
      signal,
    )
  } catch (error) {
    if (signal.aborted) return
    if (!(error instanceof ModelError)) throw error
    isLimited = error.failure.kind === 'rate_limited'
    yield { type: 'failure', failure: explained(error.failure, launch, io) }
  } finally {
    conversation.close(isLimited)
  }
}

/** Whoever is refused has to know what was asked for, and with which key. */
export function explained(failure: Failure, { agent }: LoopLaunch, { env }: AgentIo): Failure {
  if (failure.kind !== 'auth_failed') return failure
  const name = keyName(agent, env)
  const key = name === undefined ? 'without a key' : `with the key in ${name}`
  return { ...failure, message: `${failure.message}; asked for ${agent.model} ${key}` }
}

/** What keeps it from beginning is a fact, too. */
async function open({ agent, turn }: LoopLaunch, io: AgentIo): Promise<Conversation | Fact> {
  const { systemPrompt = '', prompt = '', reads = [], loop } = turn
  const about = JSON.stringify([prompt, reads.map(({ path }) => path)])
  const scan = (text: string) => scanMessage(text, loop)
  try {
    return await openConversation({ agent, systemPrompt, about, scan }, io)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { type: 'failure', failure: { kind: 'auth_failed', message: error.message } }
  }
}

/** Where the model has no tool to read with, files are a part of the text. */
export function saidBy({ turn }: LoopLaunch, tools: readonly { readonly name: string }[]): Said {
  const { prompt = '', reads = [] } = turn
  const canRead = tools.some(({ name }) => name === 'read')
  return canRead ? { text: prompt, reads } : { text: withContextBlock(prompt, reads) ?? '' }
}

/** A whole message: its fences are its own. */
function scanMessage(text: string, looksForMarker: boolean): readonly Fact[] {
  const scanner = new MarkerScanner({ looksForMarker })
  return [...scanner.push(Buffer.from(`${text}\n`)), ...scanner.end()]
}
