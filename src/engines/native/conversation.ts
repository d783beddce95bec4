import { dropUndefined } from '../../base/objects.ts'
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { counted } from '../../base/amounts.ts'
import { awakeMs } from '../../base/awake.ts'
import type { BudgetSpent } from '../../records/events/schema.ts'
import type { Fact, FileRead } from '../engine.ts'
import { costOf, type TieredPrice } from '../prices.ts'
import { toolBrief } from '../tool-brief.ts'
import { findStopReason } from './conversation/budget.ts'
import {
  isCut,
  isOwnAnswer,
  type AnswerEntry,
  type CallPart,
  type Message,
} from './conversation/entry.ts'
import type { History } from './conversation/history.ts'
import {
  asksToContinue,
  asksForReport,
  BUDGET_AGAIN,
  CONTINUE,
  reportRequest,
} from './conversation/own-messages.ts'
import { readMessages } from './conversation/reads.ts'
import type { AgentIo } from './io.ts'
import { BAD_ENDS, type Answer } from './models/answer.ts'
import { askModel } from './models/ask-model.ts'
import { toPrompt, toTools } from './models/to-prompt.ts'
import type { SeenFiles } from './tools/seen.ts'
import { errorLine, resultOf, unknownTool, unreadableCall } from './tool-results.ts'
import type { AgentTool } from './tools/tool.ts'

/** A message for the agent, with files that are read before it. */
export interface UserMessage {
  readonly text: string
  readonly reads?: readonly FileRead[]
}

/** Finds further facts in a message. If it is not whole, its last line may be incomplete. */
export type Scanner = (text: string, isWhole: boolean) => readonly Fact[]

export interface Parts {
  readonly history: History
  readonly model: LanguageModelV4
  readonly tools: readonly AgentTool[]
  readonly seen: SeenFiles
  readonly maxTurns: number
  readonly maxOutputTokens?: number | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly price?: TieredPrice | undefined
  readonly io: Pick<AgentIo, 'workspace' | 'left' | 'spent'>
  readonly scan?: Scanner | undefined
}

const NO_TURN_LEFT = 'The call was not made: no turns left.'

/** A conversation with a model that has tools. */
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
   * Sends a message and yields facts up to an answer without tool calls. Without a message it continues
   * the conversation. `signal` may interrupt it at any time; the next call continues.
   */
  async *send(said: UserMessage | undefined, signal: AbortSignal): AsyncGenerator<Fact> {
    // A second signal may end the process before the conversation is closed.
    signal.addEventListener('abort', () => this.history.markReported(), { once: true })
    this.history.answerInterruptedCalls()
    if (said !== undefined) this.addMessage(said)
    else if (yield* this.#resume()) return
    const { maxTurns, io } = this.#parts
    // Turns before an interruption also count.
    let turns = this.history.answersToQuestion.length
    for (;;) {
      signal.throwIfAborted()
      if (turns >= maxTurns) return yield* this.#outOfTurns(maxTurns)
      const spent = findStopReason(this.history, io)
      if (spent !== undefined) return yield* this.#requestReport(spent, signal)
      const answer = yield* this.#ask('auto', signal)
      turns += 1
      const calls = answer.parts.filter((part) => part.type === 'call')
      if (calls.length === 0 && !isCut(answer)) return yield* endOf(answer)
      if (turns >= maxTurns) continue
      if (isCut(answer)) this.history.add({ type: 'user', text: CONTINUE })
      yield* this.#callTools(calls, answer, signal)
    }
  }

  /** Adds a message without a request to the model; files may come without text. */
  addMessage({ text, reads = [] }: UserMessage): void {
    const { seen, io } = this.#parts
    for (const message of readMessages(reads, this.history.callCount, io.workspace)) {
      if (message.type === 'result' && message.seen !== undefined) seen.note(message.seen)
      this.history.add(message)
    }
    if (text !== '') this.history.add({ type: 'user', text })
  }

  /** Reports a stored answer that was not reported yet; true if that ends the turn. */
  *#resume(): Generator<Fact, boolean> {
    const { isAnswered, isCutOff, lastAnswers, messages } = this.history
    if (hasReported(messages)) return yield* this.#resumeAfterReport()
    if (!isAnswered && !isCutOff) return false
    yield this.#usage()
    yield* this.#report(lastAnswers)
    if (isCutOff) {
      if (isAnswered) this.history.add({ type: 'user', text: CONTINUE })
      return false
    }
    yield* this.#scan()
    yield* endOf(lastAnswers.at(-1) ?? {})
    return true
  }

  /** A report about a spent budget does not complete the work: it continues if there is more. */
  *#resumeAfterReport(): Generator<Fact, boolean> {
    yield this.#usage()
    const spent = findStopReason(this.history, this.#parts.io)
    if (spent === undefined) {
      this.history.add({ type: 'user', text: BUDGET_AGAIN })
      return false
    }
    yield* this.#report(this.history.lastAnswers)
    yield* this.#scan()
    yield budgetFailure(spent)
    return true
  }

  async *#ask(toolChoice: 'auto' | 'none', signal: AbortSignal): AsyncGenerator<Fact, Answer> {
    const { model, price } = this.#parts
    const answer = yield* askModel(model, this.#request(toolChoice), signal)
    const { parts, tokens, finish } = answer
    const cost = price === undefined ? {} : { costUsd: costOf(tokens, price) }
    const entry: AnswerEntry = { type: 'assistant', parts, tokens, finish, ...cost }
    const isRest = asksToContinue(this.history.messages.at(-1))
    this.history.add(entry)
    yield* this.#reportProblem()
    yield* this.#report([entry], isRest)
    if (!isCut(entry)) yield* this.#scan()
    yield this.#usage()
    this.history.noteReported()
    return answer
  }

  #request(toolChoice: 'auto' | 'none'): LanguageModelV4CallOptions {
    const { head, messages } = this.history
    const { maxOutputTokens, headers } = this.#parts
    const tools = toTools(head)
    return {
      prompt: toPrompt(head, messages),
      ...(tools.length === 0 ? {} : { tools, toolChoice: { type: toolChoice } }),
      ...dropUndefined({ maxOutputTokens, headers }),
      // Every request contains everything, so the provider need not store it.
      providerOptions: { openai: { store: false } },
    }
  }

  /** Answers that belong together: each continues the previous one. */
  *#report(answers: readonly AnswerEntry[], isRest = false): Generator<Fact> {
    for (const [index, { parts }] of answers.entries()) {
      for (const [block, text] of textsOf(parts).entries()) {
        const follows = block > 0 ? '\n' : isRest || index > 0 ? '' : undefined
        yield { type: 'message', text, ...(follows === undefined ? {} : { follows }) }
      }
    }
  }

  /** Scans the last answer together with those that it continues: a line or a fence may span them. */
  *#scan(): Generator<Fact> {
    const { lastAnswers } = this.history
    const { finish = '', parts = [] } = lastAnswers.at(-1) ?? {}
    const isWhole = !isCut({ finish, parts }) && BAD_ENDS[finish] === undefined
    const text = lastAnswers.map(textOf).join('')
    yield* this.#parts.scan?.(text, isWhole) ?? []
  }

  #usage(): Fact {
    const { turns, tokens, costUsd } = this.history.usage
    return { type: 'usage', turns, tokens, ...(costUsd === undefined ? {} : { costUsd }) }
  }

  *#reportProblem(): Generator<Fact> {
    const text = this.history.takeProblem()
    if (text !== undefined) yield { type: 'notice', text }
  }

  /** Calls them one by one, so that an interruption affects only one of them. */
  async *#callTools(
    calls: readonly CallPart[],
    { unreadable, finish }: Answer,
    signal: AbortSignal,
  ): AsyncGenerator<Fact> {
    // The effects of a call survive a power failure, so its record must too.
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
      if (answer.onSaved !== undefined) await this.history.sync()
      await answer.onSaved?.()
      yield* this.#reportProblem()
      const ms = Math.round(awakeMs() - began)
      const error = answer.isError === true ? { error: errorLine(answer.text) } : {}
      const diff = answer.diff === undefined ? {} : { diff: answer.diff }
      yield { type: 'tool_ended', name, ms, ...error, ...diff }
    }
  }

  #call(tool: AgentTool | undefined, { name, input }: CallPart, signal: AbortSignal) {
    const { workspace, spent } = this.#parts.io
    if (tool === undefined) return Promise.resolve(unknownTool(name, [...this.#tools.keys()]))
    return tool.call(input, workspace, AbortSignal.any([signal, spent]))
  }

  async *#requestReport(spent: BudgetSpent, signal: AbortSignal): AsyncGenerator<Fact> {
    if (this.history.isCutOff) yield* this.#scan()
    this.history.add({ type: 'user', text: reportRequest(spent.error) })
    yield* this.#ask('none', signal)
    if (this.history.isCutOff) yield* this.#scan()
    this.history.answerOpenCalls(NO_TURN_LEFT)
    yield budgetFailure(spent)
  }

  *#outOfTurns(most: number): Generator<Fact> {
    if (this.history.isCutOff) yield* this.#scan()
    this.history.answerOpenCalls(NO_TURN_LEFT)
    const message = `not finished after ${counted(most, 'turn')}; raise "maxTurns" of the agent`
    yield { type: 'failure', failure: { kind: 'max_turns', message } }
  }
}

function budgetFailure({ error: message, limit }: BudgetSpent): Fact {
  return { type: 'failure', failure: { kind: 'budget', message, limit } }
}

/** Whether the last answer is a report about a spent budget. */
function hasReported(messages: readonly Message[]): boolean {
  const at = messages.findLastIndex(({ type }) => type === 'user')
  return asksForReport(messages[at]) && messages.slice(at).some(isOwnAnswer)
}

function textsOf(parts: Answer['parts']): string[] {
  return parts.flatMap((part) =>
    part.type === 'text' && part.text.trim() !== '' ? [part.text] : [],
  )
}

/** Line breaks at its end count, because another answer may continue it. */
function textOf({ parts }: AnswerEntry): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function* endOf({ finish = '' }: Partial<Pick<Answer, 'finish'>>): Generator<Fact> {
  const message = BAD_ENDS[finish]
  if (message !== undefined) yield { type: 'failure', failure: { kind: 'error', message } }
}
