import { dirname } from 'node:path'
import { errorCode, errorText } from '../../base/errors.ts'
import type { MaskStream } from '../../base/secrets/mask.ts'
import type { Fact, LoopLaunch } from '../engine.ts'
import type { UserMessage } from './conversation.ts'
import { usageWithUnfinished } from './conversation/budget.ts'
import { readConversation } from './conversation/conversation-file.ts'
import { isQuestion } from './conversation/own-messages.ts'
import { PartialAnswer, readPartialAnswer } from './conversation/partial-answer.ts'
import type { History, ConversationStorage } from './conversation/history.ts'
import type { AgentIo } from './io.ts'
import { ModelError } from './models/ask-model.ts'
import { openConversation } from './open-conversation.ts'
import { withKeyName, userMessageOf } from './run-agent.ts'

/** Where an answer is shown while it streams. */
export interface Hearing {
  readonly person: {
    /** Gets the chunks, with secrets masked, after they were stored. */
    hear(piece: string): void
    /** The answer starts over. */
    restartAnswer(): void
  }
  readonly mask: MaskStream
}

/** One turn of a chat: the user's message, and the model's answers and tool calls. */
export async function* runChatTurn(
  launch: LoopLaunch,
  io: AgentIo,
  { person, mask }: Hearing,
  signal: AbortSignal,
): AsyncGenerator<Fact> {
  const opened = await openOrFail(launch, io)
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
    const said = userMessageOf(launch, head.tools)
    if (!isLastSaid(said, history)) conversation.addMessage(said)
    const problem = history.takeProblem()
    // An answer that cannot be stored would be paid for and lost to the next turn.
    if (problem !== undefined) return yield notSaved(problem, io)
    isAsking = true
    let isHeard = false
    for await (const fact of conversation.send(undefined, signal)) {
      const isNews: boolean = fact.type === 'delta' || (fact.type === 'message' && !isHeard)
      if (isNews && 'text' in fact) show(fact.text, mask.push(Buffer.from(fact.text)))
      if (fact.type === 'message' || fact.type === 'notice') show('', mask.end())
      // One answer may consist of several messages in a row.
      isHeard = isNews || (isHeard && fact.type === 'message')
      // The message repeats the whole answer; after a notice it is requested again.
      if (fact.type === 'message' || fact.type === 'notice') heard.clear()
      if (fact.type === 'notice') person.restartAnswer()
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
    yield { type: 'failure', failure: withKeyName(error.failure, launch, io) }
  } finally {
    show('', mask.end())
    heard.commit()
    history.answerInterruptedCalls()
    history.close()
  }
}

/** A message that is repeated because it got no answer is already stored. */
function isLastSaid({ text, reads = [] }: UserMessage, { messages }: History): boolean {
  const last = messages.at(-1)
  return reads.length === 0 && last?.type === 'user' && last.text === text
}

async function openOrFail(launch: LoopLaunch, io: AgentIo) {
  try {
    return await open(launch, io)
  } catch (error) {
    if (errorCode(error) === undefined) throw error
    return notSaved(errorText(error), io)
  }
}

function notSaved(why: string, { storage }: AgentIo): Fact {
  const place = storage === undefined ? '' : ` in ${dirname(storage.path)}`
  const message = `message not sent: ${why}. Fix the problem${place} (for example, free disk space) and retry`
  return { type: 'failure', failure: { kind: 'error', message } }
}

/** Adds files to a chat without a message; the model is not called. */
export async function addReads(launch: LoopLaunch, io: AgentIo): Promise<void> {
  const { conversation } = await open(launch, io)
  const { tools } = conversation.history.head
  conversation.addMessage(userMessageOf({ ...launch, turn: { ...launch.turn, prompt: '' } }, tools))
  conversation.history.close()
}

async function open({ agent, turn }: LoopLaunch, io: AgentIo) {
  const { systemPrompt = '' } = turn
  const conversation = await openConversation({ agent, systemPrompt, subject: 'chat' }, io)
  const heard = new PartialAnswer(io.storage, conversation.history)
  heard.restore()
  conversation.history.answerInterruptedCalls()
  return { conversation, heard }
}

/** The user's last message in a stored chat, and the agent's answer to it. */
export function lastExchange(storage: Pick<ConversationStorage, 'path' | 'env'>): {
  readonly person?: string | undefined
  readonly agent: string
} {
  const entries = readConversation(storage.path, storage.env)?.entries ?? []
  const messages = entries.filter(({ type }) => type !== 'begin' && type !== 'end')
  const at = messages.findLastIndex((message, index) => {
    const next = messages[index + 1]
    // The text before files that were read in advance.
    const isBeforeFiles = next?.type === 'assistant' && next.isMade === true
    return !isBeforeFiles && isQuestion(message)
  })
  const said = messages[at]
  const texts = messages.slice(at + 1).flatMap((message) => {
    const parts = message.type === 'assistant' ? message.parts : []
    return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  })
  const { count, text } = readPartialAnswer(storage)
  const heard = count === messages.length ? [text] : []
  const agent = [...texts, ...heard].join('\n').trimEnd()
  return { person: said?.type === 'user' ? said.text : undefined, agent }
}
