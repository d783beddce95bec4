import { copyFileSync, existsSync } from 'node:fs'
import { errorText } from '../../../base/errors.ts'
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
import type { SeenFile } from '../tools/seen.ts'
import { addAnswer, unreportedUsage, type ConversationUsage } from './usage.ts'

/** Where and how a conversation is stored. */
export interface ConversationStorage {
  readonly path: string
  readonly mask: MaskData
  /** Used to restore masked secrets. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Paths of the conversations of earlier attempts, the last one first. */
  readonly earlier?: readonly string[]
}

/**
 * Which stored conversation to continue. `answered`: the same one, if the model has answered; before
 * that, a new start loses nothing and reads files again. `limited`: the one of an earlier attempt that
 * a rate limit ended. `always`: any.
 */
export type ResumePolicy = 'never' | 'answered' | 'limited' | 'always'

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
    if (resumePolicy === 'limited') return History.#afterLimit(head, storage)
    const saved = resumePolicy === 'never' ? undefined : readConversation(storage.path, storage.env)
    const first = saved?.entries[0]
    if (saved === undefined || first?.type !== 'begin') return History.#begin(head, storage)
    return resumePolicy === 'always' || isSame(head, saved)
      ? History.#resume(first, saved, storage)
      : History.#begin(head, storage)
  }

  /** Each attempt has its own file, into which the earlier one is copied. */
  static #afterLimit(head: Head, storage: ConversationStorage): History {
    const { earlier = [], env, path, mask } = storage
    const from = earlier.find((each) => existsSync(each))
    const saved = from === undefined ? undefined : readConversation(from, env)
    const last = saved?.entries.at(-1)
    const isLimited = last?.type === 'end' && last.isLimited === true
    if (saved === undefined || !isLimited || !isSame(head, saved))
      return History.#begin(head, storage)
    const history = new History(saved.entries[0] as Head & Entry, saved.entries)
    history.#guard(() => {
      copyFileSync(from!, path)
      history.#file = ConversationFile.resume(path, saved.bytes, mask)
    })
    return history
  }

  static #begin(head: Head, { path, mask }: ConversationStorage): History {
    const history = new History(head, [])
    history.#guard(() => {
      history.#file = ConversationFile.create(path, mask)
      history.#file.append({ type: 'begin', version: 1, ...head })
    })
    return history
  }

  static #resume(
    head: Head,
    { entries, bytes }: SavedConversation,
    { path, mask }: ConversationStorage,
  ): History {
    const history = new History(head, entries)
    history.#guard(() => {
      history.#file = ConversationFile.resume(path, bytes, mask)
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

  get lastAnswer(): AnswerEntry | undefined {
    return this.#messages.findLast(isOwnAnswer)
  }

  /** The last answer, after those that it continues. */
  get lastAnswers(): readonly AnswerEntry[] {
    const own = this.#messages.filter(isOwnAnswer)
    const isWhole = (answer: AnswerEntry, index: number) => index < own.length - 1 && !isCut(answer)
    return own.slice(own.findLastIndex(isWhole) + 1)
  }

  get answerCount(): number {
    return this.#messages.filter(isOwnAnswer).length
  }

  /** Whether the last message is an answer without tool calls. */
  get isAnswered(): boolean {
    const last = this.#messages.at(-1)
    return last?.type === 'assistant' && !last.parts.some(({ type }) => type === 'call')
  }

  get callCount(): number {
    return this.#messages.reduce(
      (count, message) => count + (message.type === 'assistant' ? callsOf(message).length : 0),
      0,
    )
  }

  /** The files that it has seen. */
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

  /** The caller has got the usage up to here. */
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

  /** A change of whether it can be stored; returned once. */
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
      const effect = 'unless that changes, a resume will start over'
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

/** Whether the stored conversation has the same head, and answers that a new start would lose. */
function isSame({ print }: Head, { entries }: SavedConversation): boolean {
  const [first] = entries
  return first?.type === 'begin' && first.print === print && entries.some(isOwnAnswer)
}

function errorResult({ id, name }: CallPart, text: string): ResultEntry {
  return { type: 'result', id, name, text, isError: true }
}
