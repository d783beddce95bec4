import { dirname } from 'node:path'
import { errorCode, errorText } from '../base/errors.ts'
import type { MaskStream } from '../base/secrets/mask.ts'
import type { Fact, LoopLaunch } from '../engines/engine.ts'
import type { Said } from './conversation.ts'
import { readConversation } from './conversation/conversation-file.ts'
import { Heard, readHeard } from './conversation/heard.ts'
import type { History, Keeping } from './conversation/history.ts'
import type { AgentIo } from './io.ts'
import { ModelError } from './models/ask-model.ts'
import { openConversation } from './open-conversation.ts'
import { explained, saidBy } from './run-agent.ts'
import { usageWithUnfinished } from './unfinished.ts'

/** Who hears an answer while it is given. */
export interface Hearing {
  readonly person: {
    /** Gets its pieces, without secrets, once they are kept. */
    hear(piece: string): void
    /** Is told that it is given again from its beginning. */
    hearAnew(): void
  }
  readonly mask: MaskStream
}

/** One turn of a chat: what a person says, and all that comes of it. */
export async function* runChatTurn(
  launch: LoopLaunch,
  io: AgentIo,
  { person, mask }: Hearing,
  signal: AbortSignal,
): AsyncGenerator<Fact> {
  const opened = await openOrTell(launch, io)
  if (!('conversation' in opened)) return yield opened
  const { conversation, heard } = opened
  const { history } = conversation
  const { head } = history
  let isAsking = false
  const decoder = new TextDecoder()
  const show = (text: string, bytes: Uint8Array) => {
    const piece = decoder.decode(bytes, { stream: true })
    heard.add(text, piece)
    if (piece !== '') person.hear(piece)
  }
  try {
    yield { type: 'session', id: head.id, model: head.model, billing: 'api' }
    const said = saidBy(launch, head.tools)
    if (!isLastSaid(said, history)) conversation.hear(said)
    const trouble = history.takeTrouble()
    // Nobody pays for an answer that the next turn would not know of.
    if (trouble !== undefined) return yield notKept(trouble, io)
    isAsking = true
    let isHeard = false
    for await (const fact of conversation.say(undefined, signal)) {
      const isNews: boolean = fact.type === 'delta' || (fact.type === 'message' && !isHeard)
      if (isNews && 'text' in fact) show(fact.text, mask.push(Buffer.from(fact.text)))
      if (fact.type === 'message' || fact.type === 'notice') show('', mask.end())
      // One answer may be several messages, which follow each other.
      isHeard = isNews || (isHeard && fact.type === 'message')
      // The answer is repeated by the message, or asked for again.
      if (fact.type === 'message' || fact.type === 'notice') heard.clear()
      if (fact.type === 'notice') person.hearAnew()
      if (fact.type === 'usage' || fact.type === 'tool') isAsking = false
      if (fact.type === 'tool_ended') isAsking = !signal.aborted
      yield fact
    }
  } catch (error) {
    if (signal.aborted) {
      if (isAsking) yield usageWithUnfinished(history, heard.text, launch.agent)
      return
    }
    if (!(error instanceof ModelError)) throw error
    yield { type: 'failure', failure: explained(error.failure, launch, io) }
  } finally {
    show('', mask.end())
    heard.keep()
    history.mend()
    conversation.close()
  }
}

/** What is said again because nobody answered is there already. */
function isLastSaid({ text, reads = [] }: Said, { messages }: History): boolean {
  const last = messages.at(-1)
  return reads.length === 0 && last?.type === 'user' && last.text === text
}

/** What keeps it from being opened is a fact, too. */
async function openOrTell(launch: LoopLaunch, io: AgentIo) {
  try {
    return await open(launch, io)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return notKept(errorText(error), io)
  }
}

function notKept(why: string, { keeping }: AgentIo): Fact {
  const place = keeping === undefined ? '' : `, in ${dirname(keeping.path)}`
  const message = `nobody was asked: ${why}. Mend that, e.g. free some space, and say it again${place}`
  return { type: 'failure', failure: { kind: 'error', message } }
}

/** Files that a person hands over without a word: nobody is asked anything. */
export async function hearReads(launch: LoopLaunch, io: AgentIo): Promise<void> {
  const { conversation } = await open(launch, io)
  const { tools } = conversation.history.head
  conversation.hear(saidBy({ ...launch, turn: { ...launch.turn, prompt: '' } }, tools))
  conversation.close()
}

async function open({ agent, turn }: LoopLaunch, io: AgentIo) {
  const { systemPrompt = '' } = turn
  const conversation = await openConversation({ agent, systemPrompt, about: 'chat' }, io)
  const heard = new Heard(io.keeping, conversation.history)
  heard.takeUp()
  conversation.history.mend()
  return { conversation, heard }
}

/** What was said last in a chat that is kept: by the person, and then by the agent. */
export function lastWordsIn(keeping: Pick<Keeping, 'path' | 'env'>): {
  readonly person?: string | undefined
  readonly agent: string
} {
  const entries = readConversation(keeping.path, keeping.env)?.entries ?? []
  const messages = entries.filter(({ type }) => type !== 'begin' && type !== 'end')
  const at = messages.findLastIndex(({ type }) => type === 'user')
  const said = messages[at]
  const texts = messages.slice(at + 1).flatMap((message) => {
    const parts = message.type === 'assistant' ? message.parts : []
    return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  })
  const { count, text } = readHeard(keeping)
  const heard = count === messages.length ? [text] : []
  const agent = [...texts, ...heard].join('\n').trimEnd()
  return { person: said?.type === 'user' ? said.text : undefined, agent }
}
