import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { awakeMs } from '../base/awake.ts'
import type { Fact, FileRead } from '../engines/engine.ts'
import { costOf, type Tiered } from '../engines/prices.ts'
import { toolBrief } from '../engines/tool-brief.ts'
import type { AnswerEntry, CallPart, Message } from './conversation/entry.ts'
import { isCut } from './conversation/answers.ts'
import type { History } from './conversation/history.ts'
import { readMessages } from './conversation/reads.ts'
import type { AgentIo } from './io.ts'
import type { Answer } from './models/answer.ts'
import { askModel } from './models/ask-model.ts'
import { toPrompt, toTools } from './models/to-prompt.ts'
import { mustEnd } from './must-end.ts'
import { seenInPrompt, type Seen } from './tools/seen.ts'
import { errorLine, resultOf, unknownTool, unreadableCall } from './tool-results.ts'
import type { AgentTool } from './tools/tool.ts'

/** What somebody says to the agent, and what it has read before. */
export interface Said {
  readonly text: string
  readonly reads?: readonly FileRead[]
}

/** What a conversation is made of. */
export interface Parts {
  readonly history: History
  readonly model: LanguageModelV4
  readonly tools: readonly AgentTool[]
  readonly seen: Seen
  readonly maxTurns: number
  readonly maxOutputTokens?: number | undefined
  readonly price?: Tiered | undefined
  readonly io: Pick<AgentIo, 'workplace' | 'left' | 'spent'>
  /** What else follows from an answer as a whole. */
  readonly scan?: ((text: string) => readonly Fact[]) | undefined
}

const HAND_BACK =
  'You get no further tools and no further turn. Say now, in a few words, what is done, what is not, and where it is.'
const GO_ON = 'Your answer was cut off at its greatest length. Go on where it ended.'
const NO_TURN_LEFT = 'The call was not made: no turn was left.'

/** A conversation with a model that has tools: what is said to it, and what it says and does. */
export class Conversation {
  readonly history: History
  readonly #parts: Parts
  readonly #tools: ReadonlyMap<string, AgentTool>

  constructor(parts: Parts) {
    this.history = parts.history
    this.#parts = parts
    this.#tools = new Map(parts.tools.map((tool) => [tool.name, tool]))
  }

  /**
   * Says something and follows what comes of it, up to an answer that calls no tool. Without words it
   * goes on where it was left. May be broken off by `signal` at any time, and goes on by the next call.
   */
  async *say(said: Said | undefined, signal: AbortSignal): AsyncGenerator<Fact> {
    // Whoever is told twice to end does not wait until we have ended.
    signal.addEventListener('abort', () => this.history.markTold(), { once: true })
    this.history.mend()
    if (said !== undefined) this.hear(said)
    else if (yield* this.#takeUp()) return
    const { maxTurns, io } = this.#parts
    // Whoever goes on goes on counting.
    let turns = said === undefined ? this.history.answerCount : 0
    for (;;) {
      signal.throwIfAborted()
      if (turns >= maxTurns) return yield* this.#outOfTurns(maxTurns)
      const spent = mustEnd(this.history, io)
      if (spent !== undefined) return yield* this.#handBack(spent, signal)
      const answer = yield* this.#ask('auto', signal)
      turns += 1
      const calls = answer.parts.filter((part) => part.type === 'call')
      if (calls.length === 0 && !isCut(answer)) return yield* endOf(answer)
      if (turns >= maxTurns) continue
      if (isCut(answer)) this.history.add({ type: 'user', text: GO_ON })
      yield* this.#callTools(calls, answer, signal)
    }
  }

  /** `isLimited`: because a limit was met. */
  close(isLimited = false): void {
    this.history.close(isLimited)
  }

  /** What is said without an answer being asked for; files may come without a word. */
  hear({ text, reads = [] }: Said): void {
    const { seen, io } = this.#parts
    const known = reads.map((read) => {
      const file = read.ok ? seenInPrompt(read.path, read.text, io.workplace) : undefined
      if (file !== undefined) seen.note(file)
      return { ...read, seen: file }
    })
    for (const message of readMessages(known, this.history.callCount)) this.history.add(message)
    if (text !== '') this.history.add({ type: 'user', text })
  }

  /** What was said when nobody listened any more; true: it is over by that. */
  *#takeUp(): Generator<Fact, boolean> {
    const { isAnswered, lastSaid, lastAnswer } = this.history
    const isOpen = lastAnswer !== undefined && isCut(lastAnswer)
    if (!isAnswered && !isOpen) return false
    yield this.#usage()
    yield* this.#tell(lastSaid)
    if (!isOpen) yield* endOf(lastAnswer ?? {})
    else if (isAnswered) this.history.add({ type: 'user', text: GO_ON })
    return !isOpen
  }

  async *#ask(toolChoice: 'auto' | 'none', signal: AbortSignal): AsyncGenerator<Fact, Answer> {
    const { model, price } = this.#parts
    const answer = yield* askModel(model, this.#request(toolChoice), signal)
    const { parts, tokens, finish } = answer
    const cost = price === undefined ? {} : { costUsd: costOf(tokens, price) }
    const entry: AnswerEntry = { type: 'assistant', parts, tokens, finish, ...cost }
    const isRest = isGoOn(this.history.messages.at(-1))
    this.history.add(entry)
    yield* this.#tellTrouble()
    yield* this.#tell([entry], isRest)
    yield this.#usage()
    this.history.noteTold()
    return answer
  }

  #request(toolChoice: 'auto' | 'none'): LanguageModelV4CallOptions {
    const { head, messages } = this.history
    const { maxOutputTokens } = this.#parts
    const tools = toTools(head)
    return {
      prompt: toPrompt(head, messages),
      ...(tools.length === 0 ? {} : { tools, toolChoice: { type: toolChoice } }),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      // A scripted model tells conversations apart by it.
      headers: { 'x-forkhestra-conversation-id': head.id },
      // All that the model needs is in the request: nothing is kept elsewhere.
      providerOptions: { openai: { store: false } },
    }
  }

  /** Answers that are one, each the rest of the one before it. */
  *#tell(answers: readonly AnswerEntry[], isRest = false): Generator<Fact> {
    for (const [index, { parts }] of answers.entries()) {
      const texts = textsOf(parts)
      for (const [block, text] of texts.entries()) {
        const follows = block > 0 ? '\n' : isRest || index > 0 ? '' : undefined
        yield { type: 'message', text, ...(follows === undefined ? {} : { follows }) }
      }
      yield* this.#parts.scan?.(texts.join('\n')) ?? []
    }
  }

  #usage(): Fact {
    const { turns, tokens, costUsd } = this.history.taken
    return { type: 'usage', turns, tokens, ...(costUsd === undefined ? {} : { costUsd }) }
  }

  *#tellTrouble(): Generator<Fact> {
    const text = this.history.takeTrouble()
    if (text !== undefined) yield { type: 'notice', text }
  }

  /** One after the other, so that it is known which of them an end has met. */
  async *#callTools(
    calls: readonly CallPart[],
    { unreadable, finish }: Answer,
    signal: AbortSignal,
  ): AsyncGenerator<Fact> {
    // What a call does stays done, and so must be known that it was made.
    if (calls.length > 0) await this.history.sync()
    for (const call of calls) {
      signal.throwIfAborted()
      const { id, name, input } = call
      const tool = this.#tools.get(name)
      yield { type: 'tool', name, brief: tool?.brief(input) ?? toolBrief(input) }
      const began = awakeMs()
      const answer = unreadable.has(id)
        ? unreadableCall(finish)
        : await this.#call(tool, call, signal)
      this.history.add(resultOf(call, answer))
      if (answer.taken !== undefined) await this.history.sync()
      await answer.taken?.()
      yield* this.#tellTrouble()
      const ms = Math.round(awakeMs() - began)
      const error = answer.isError === true ? { error: errorLine(answer.text) } : {}
      const diff = answer.diff === undefined ? {} : { diff: answer.diff }
      yield { type: 'tool_ended', name, ms, ...error, ...diff }
    }
  }

  #call(tool: AgentTool | undefined, { name, input }: CallPart, signal: AbortSignal) {
    const { workplace, spent } = this.#parts.io
    if (tool === undefined) return Promise.resolve(unknownTool(name, [...this.#tools.keys()]))
    return tool.call(input, workplace, AbortSignal.any([signal, spent]))
  }

  async *#handBack(why: string, signal: AbortSignal): AsyncGenerator<Fact> {
    this.history.add({ type: 'user', text: `The budget is used up: ${why}. ${HAND_BACK}` })
    yield* this.#ask('none', signal)
    this.history.answerOpen(NO_TURN_LEFT)
    yield { type: 'failure', failure: { kind: 'budget', message: why } }
  }

  *#outOfTurns(most: number): Generator<Fact> {
    this.history.answerOpen(NO_TURN_LEFT)
    const words = most === 1 ? '1 turn was' : `${most} turns were`
    const message = `${words} not enough; "maxTurns" of the agent allows more`
    yield { type: 'failure', failure: { kind: 'max_turns', message } }
  }
}

function isGoOn(message: Message | undefined): boolean {
  return message?.type === 'user' && message.text === GO_ON
}

function textsOf(parts: Answer['parts']): string[] {
  return parts.flatMap((part) =>
    part.type === 'text' && part.text.trim() !== '' ? [part.text] : [],
  )
}

const BAD_ENDS: Readonly<Record<string, string>> = {
  'content-filter': 'the provider has stopped the answer by its rules for content',
  error: 'the provider has ended the answer with an error',
}

function* endOf({ finish = '' }: Partial<Pick<Answer, 'finish'>>): Generator<Fact> {
  const message = BAD_ENDS[finish]
  if (message !== undefined) yield { type: 'failure', failure: { kind: 'error', message } }
}
