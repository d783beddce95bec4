import { copyFileSync, existsSync } from 'node:fs'
import { errorText, tryOr } from '../../../base/errors.ts'
import type { Environment } from '../../../base/environment.ts'
import type { Tokens } from '../../engine.ts'
import {
  ConversationFile,
  readConversation,
  type SavedConversation,
  type MaskData,
} from './conversation-file.ts'
import {
  callsOf,
  isCut,
  isOwnAnswer,
  type AnswerEntry,
  type CallPart,
  type Entry,
  type Head,
  type Message,
  type ResultEntry,
} from './entry.ts'
import { asksToContinue, isQuestion } from './own-messages.ts'
import type { SeenFile } from '../tools/seen.ts'

export interface ConversationStorage {
  readonly path: string
  readonly mask: MaskData
  /** Used to restore masked secrets. */
  readonly env: Environment
  /** Paths of the conversations of earlier attempts, the last one first. */
  readonly earlier?: readonly string[]
}

/**
 * Which stored conversation to continue. `answered`: the same one, if the model has answered; before
 * that, a new start loses nothing and reads files again. `limited`: the one of an earlier attempt that
 * a rate limit ended. `always`: any.
 */
export type ResumePolicy = 'never' | 'answered' | 'limited' | 'always'

export interface ConversationUsage {
  readonly turns: number
  readonly tokens: Tokens
  /** Undefined if the price of the model is unknown. */
  readonly costUsd: number | undefined
}

const NOTHING: ConversationUsage = {
  turns: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: undefined,
}

const INTERRUPTED =
  'The call was interrupted: it may or may not have happened, in whole or in part. Check before you repeat it.'
const NOT_STARTED = 'The call was not started, because an earlier one was interrupted.'

/** An append-only conversation; if it is stored, each message is written before it is used. */
export class History {
  readonly head: Head
  /** Whether an earlier process or attempt started it. */
  readonly isResumed: boolean
  readonly #messages: Message[]
  #file: ConversationFile | undefined
  #isSaved = true
  #problem: string | undefined
  #usage: ConversationUsage
  #isReported = false
  /** Whether the file says so. */
  #isMarked = false

  private constructor(head: Head, entries: readonly Entry[]) {
    this.head = head
    this.isResumed = entries.length > 0
    this.#messages = entries
      .filter((entry) => entry.type !== 'begin' && entry.type !== 'end')
      .map(withoutDiff)
    this.#usage = unreportedUsage(entries)
  }

  /** Continues a stored conversation with its own head, if the policy allows it, or starts a new one. */
  static open(
    head: Head,
    storage: ConversationStorage | undefined,
    resumePolicy: ResumePolicy,
  ): History {
    if (storage === undefined) return new History(head, [])
    const { path, mask, env, earlier = [] } = storage
    // Each attempt has its own file, into which an earlier one is copied.
    const from = resumePolicy === 'limited' ? earlier.find((each) => existsSync(each)) : path
    const saved =
      from === undefined || resumePolicy === 'never' ? undefined : readConversation(from, env)
    const isResumed = saved !== undefined && mayContinue(saved, head, resumePolicy)
    const history = isResumed ? new History(saved.head, saved.entries) : new History(head, [])
    history.#guard(() => {
      if (isResumed) {
        if (from !== path) copyFileSync(from!, path)
        history.#file = ConversationFile.resume(path, saved.bytes, mask)
      } else {
        history.#file = ConversationFile.create(path, mask)
        history.#file.append({ type: 'begin', version: 1, ...head })
      }
    })
    return history
  }

  get messages(): readonly Message[] {
    return this.#messages
  }

  /** Usage of this process or attempt, and any that an earlier one did not report. */
  get usage(): ConversationUsage {
    return this.#usage
  }

  get answers(): readonly AnswerEntry[] {
    return this.#messages.filter(isOwnAnswer)
  }

  /** The answers since the last prompt or user message. */
  get answersToQuestion(): readonly AnswerEntry[] {
    return this.#messages.slice(this.#messages.findLastIndex(isQuestion) + 1).filter(isOwnAnswer)
  }

  /** The last answer, after those that it continues. */
  get lastAnswers(): readonly AnswerEntry[] {
    const end = this.#messages.findLastIndex(isOwnAnswer) + 1
    let start = end - 1
    while (asksToContinue(this.#messages[start - 1])) start -= 2
    return this.#messages.slice(Math.max(0, start), end).filter(isOwnAnswer)
  }

  /** Whether the last answer was cut off and its continuation is still missing. */
  get isCutOff(): boolean {
    const last = this.#messages.at(-1)
    return asksToContinue(last) || (last !== undefined && isOwnAnswer(last) && isCut(last))
  }

  /** Whether the last message is an answer without tool calls. */
  get isAnswered(): boolean {
    const last = this.#messages.at(-1)
    return last?.type === 'assistant' && callsOf(last).length === 0
  }

  get callCount(): number {
    const answers = this.#messages.filter((message) => message.type === 'assistant')
    return answers.flatMap(callsOf).length
  }

  get seen(): readonly SeenFile[] {
    return this.#messages.flatMap((message) =>
      message.type === 'result' && message.seen !== undefined ? [message.seen] : [],
    )
  }

  add(message: Message): void {
    this.#append(message)
    this.#messages.push(withoutDiff(message))
    if (!isOwnAnswer(message)) return
    this.#usage = addAnswer(this.#usage, message)
    this.#isReported = false
  }

  /** Call when the caller has received the usage up to here. */
  noteReported(): void {
    this.#isReported = true
  }

  /** Stores that usage was reported, in case the process ends before `close`. */
  markReported(): void {
    if (this.#isReported && !this.#isMarked) this.#append({ type: 'end' })
  }

  /** Returns when all messages would survive a power failure. */
  async sync(): Promise<void> {
    try {
      await this.#file?.sync()
    } catch (error) {
      this.#note(error)
    }
  }

  /** Providers refuse calls without a result. Only the first open call can have been started. */
  answerInterruptedCalls(): void {
    const [first, ...more] = this.#openCalls()
    if (first === undefined) return
    this.add(errorResult(first, INTERRUPTED))
    for (const call of more) this.add(errorResult(call, NOT_STARTED))
  }

  /** Answers calls of which none was started. */
  answerOpenCalls(text: string): void {
    for (const call of this.#openCalls()) this.add(errorResult(call, text))
  }

  /** Whether storing has started or stopped failing; each change is returned once. */
  takeProblem(): string | undefined {
    const problem = this.#problem
    this.#problem = undefined
    return problem
  }

  close(isLimited = false): void {
    if (!this.#isMarked) this.#append({ type: 'end', ...(isLimited ? { isLimited } : {}) })
    this.#file?.close()
    this.#file = undefined
  }

  #append(entry: Entry): void {
    this.#isMarked = entry.type === 'end'
    const file = this.#file
    if (file !== undefined) this.#guard(() => file.append(entry))
  }

  /** The conversation continues even if it cannot be stored. */
  #guard(write: () => void): void {
    try {
      write()
      if (!this.#isSaved) this.#problem = 'the conversation can be stored again'
      this.#isSaved = true
    } catch (error) {
      this.#note(error)
    }
  }

  #note(error: unknown): void {
    if (this.#isSaved) {
      const effect = 'until this is fixed, a resume will start over'
      this.#problem = `cannot store the conversation: ${errorText(error)}; ${effect}`
    }
    this.#isSaved = false
  }

  #openCalls(): readonly CallPart[] {
    const last = this.#messages.findLastIndex(({ type }) => type === 'assistant')
    const answer = this.#messages[last]
    if (answer?.type !== 'assistant') return []
    const later = this.#messages.slice(last + 1)
    const isAnswered = ({ id }: CallPart) =>
      later.some((message) => message.type === 'result' && message.id === id)
    return callsOf(answer).filter((call) => !isAnswered(call))
  }
}

/** Diffs are for people; the model never gets them. */
function withoutDiff(message: Message): Message {
  if (message.type !== 'result' || message.diff === undefined) return message
  const { diff: _, ...saved } = message
  return saved
}

function mayContinue(
  { head: { print }, entries }: SavedConversation,
  head: Head,
  resumePolicy: ResumePolicy,
): boolean {
  if (resumePolicy === 'always') return true
  const last = entries.at(-1)
  const isLimited = last?.type === 'end' && last.isLimited === true
  // Without an answer, nothing is lost by a new start.
  const isSame = print === head.print && entries.some(isOwnAnswer)
  return isSame && (resumePolicy !== 'limited' || isLimited)
}

function errorResult({ id, name }: CallPart, text: string): ResultEntry {
  return { type: 'result', id, name, text, isError: true }
}

/** Everything before the last `end` has been reported. */
function unreportedUsage(entries: readonly Entry[]): ConversationUsage {
  const reported = entries.findLastIndex(({ type }) => type === 'end')
  return entries
    .slice(reported + 1)
    .filter(isOwnAnswer)
    .reduce(addAnswer, NOTHING)
}

/** The usage in a stored conversation that its process did not report; undefined if it cannot be read. */
export function readUnreportedUsage(path: string): ConversationUsage | undefined {
  return tryOr(undefined, () => unreportedUsage(readConversation(path, {})?.entries ?? []))
}

function addAnswer(usage: ConversationUsage, answer: AnswerEntry): ConversationUsage {
  const { tokens = NOTHING.tokens, costUsd } = answer
  const cost = costUsd === undefined ? usage.costUsd : (usage.costUsd ?? 0) + costUsd
  return { turns: usage.turns + 1, tokens: addTokens(usage.tokens, tokens), costUsd: cost }
}

export function addTokens(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  }
}
