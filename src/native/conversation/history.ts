import { copyFileSync, existsSync } from 'node:fs'
import { errorText } from '../../base/errors.ts'
import { callsOf, isOwnAnswer, isCut } from './answers.ts'
import {
  ConversationFile,
  readConversation,
  type Kept,
  type MaskData,
} from './conversation-file.ts'
import type { AnswerEntry, CallPart, Entry, Head, Message, ResultEntry } from './entry.ts'
import type { SeenFile } from '../tools/seen.ts'
import { addTaken, takenSince, type Taken } from './taken.ts'

/** Where a conversation is kept, and what belongs to that. */
export interface Keeping {
  readonly path: string
  readonly mask: MaskData
  /** From which masked secrets are put back. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where those of earlier attempts are, the last one first. */
  readonly earlier?: readonly string[]
}

/**
 * `answered`: where it is the same one, and the model has answered: before that nothing is lost by a new
 * beginning, and files are read afresh. `limited`: the same with that of an earlier attempt, where a
 * limit ended it. `always`: whatever it is.
 */
export type MayGoOn = 'never' | 'answered' | 'limited' | 'always'

const INTERRUPTED =
  'The call was interrupted: it may or may not have happened, in whole or in part. Look before you do it again.'
const NOT_BEGUN = 'The call was not begun, because an earlier one was interrupted.'

/** A conversation: append-only, in memory and, where it is kept, on disk first. */
export class History {
  readonly head: Head
  /** Whether an earlier process, or attempt, has begun it. */
  readonly isResumed: boolean
  readonly #messages: Message[]
  #file: ConversationFile | undefined
  #isKept = true
  #trouble: string | undefined
  #taken: Taken
  /** Whether what it has taken was told, and whether that stands in the file. */
  #isTold = false
  #isMarked = false

  private constructor(head: Head, entries: readonly Entry[]) {
    this.head = head
    this.isResumed = entries.length > 0
    this.#messages = entries
      .filter((entry) => entry.type !== 'begin' && entry.type !== 'end')
      .map(withoutDiff)
    this.#taken = takenSince(entries)
  }

  /** The one that is kept, where it may go on; otherwise a new one. What it began with stays. */
  static open(head: Head, keeping: Keeping | undefined, mayGoOn: MayGoOn): History {
    if (keeping === undefined) return new History(head, [])
    if (mayGoOn === 'limited') return History.#afterLimit(head, keeping)
    const kept = mayGoOn === 'never' ? undefined : readConversation(keeping.path, keeping.env)
    const first = kept?.entries[0]
    if (kept === undefined || first?.type !== 'begin') return History.#begin(head, keeping)
    return mayGoOn === 'always' || isSame(head, kept)
      ? History.#goOn(first, kept, keeping)
      : History.#begin(head, keeping)
  }

  /** Each attempt has a file of its own: what was said before stands in the next one, too. */
  static #afterLimit(head: Head, keeping: Keeping): History {
    const { earlier = [], env, path, mask } = keeping
    const from = earlier.find((each) => existsSync(each))
    const kept = from === undefined ? undefined : readConversation(from, env)
    const last = kept?.entries.at(-1)
    const isLimited = last?.type === 'end' && last.isLimited === true
    if (kept === undefined || !isLimited || !isSame(head, kept))
      return History.#begin(head, keeping)
    const history = new History(kept.entries[0] as Head & Entry, kept.entries)
    history.#guard(() => {
      copyFileSync(from!, path)
      history.#file = ConversationFile.goOn(path, kept.bytes, mask)
    })
    return history
  }

  static #begin(head: Head, { path, mask }: Keeping): History {
    const history = new History(head, [])
    history.#guard(() => {
      history.#file = ConversationFile.create(path, mask)
      history.#file.append({ type: 'begin', version: 1, ...head })
    })
    return history
  }

  static #goOn(head: Head, { entries, bytes }: Kept, { path, mask }: Keeping): History {
    const history = new History(head, entries)
    history.#guard(() => {
      history.#file = ConversationFile.goOn(path, bytes, mask)
    })
    return history
  }

  get messages(): readonly Message[] {
    return this.#messages
  }

  /** Since this process, or attempt, has it; with what an earlier one has not told. */
  get taken(): Taken {
    return this.#taken
  }

  /** The last answer of the model, where it has given one. */
  get lastAnswer(): AnswerEntry | undefined {
    return this.#messages.findLast(isOwnAnswer)
  }

  /** The same behind those of which it is the rest. */
  get lastSaid(): readonly AnswerEntry[] {
    const own = this.#messages.filter(isOwnAnswer)
    const isWhole = (answer: AnswerEntry, index: number) => index < own.length - 1 && !isCut(answer)
    return own.slice(own.findLastIndex(isWhole) + 1)
  }

  get answerCount(): number {
    return this.#messages.filter(isOwnAnswer).length
  }

  /** Whether the last word is one of the model, and it wants nothing more. */
  get isAnswered(): boolean {
    const last = this.#messages.at(-1)
    return last?.type === 'assistant' && !last.parts.some(({ type }) => type === 'call')
  }

  /** How many calls of tools there were. */
  get callCount(): number {
    return this.#messages.reduce(
      (count, message) => count + (message.type === 'assistant' ? callsOf(message).length : 0),
      0,
    )
  }

  /** What it knows of files. */
  get seen(): readonly SeenFile[] {
    return this.#messages.flatMap((message) =>
      message.type === 'result' && message.seen !== undefined ? [message.seen] : [],
    )
  }

  add(message: Message): void {
    this.#append(message)
    this.#messages.push(withoutDiff(message))
    if (!isOwnAnswer(message)) return
    this.#taken = addTaken(this.#taken, message)
    this.#isTold = false
  }

  /** Whoever listens has heard what it has taken. */
  noteTold(): void {
    this.#isTold = true
  }

  /** From now on nobody may listen any more, or wait for the end. */
  markTold(): void {
    if (this.#isTold && !this.#isMarked) this.#append({ type: 'end' })
  }

  /** Returns when what was said would survive a power failure. */
  async sync(): Promise<void> {
    try {
      await this.#file?.sync()
    } catch (error) {
      this.#note(error)
    }
  }

  /** No provider takes a call without its answer. Tools are called one after the other. */
  mend(): void {
    const [first, ...more] = this.#openCalls()
    if (first === undefined) return
    this.add(errorResult(first, INTERRUPTED))
    for (const call of more) this.add(errorResult(call, NOT_BEGUN))
  }

  /** The same where it is known that none of them was made. */
  answerOpen(text: string): void {
    for (const call of this.#openCalls()) this.add(errorResult(call, text))
  }

  /** Why it is not kept any more, once. */
  takeTrouble(): string | undefined {
    const trouble = this.#trouble
    this.#trouble = undefined
    return trouble
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

  /** The work is worth more than its record. */
  #guard(write: () => void): void {
    try {
      write()
      if (!this.#isKept) this.#trouble = 'the conversation is kept again'
      this.#isKept = true
    } catch (error) {
      this.#note(error)
    }
  }

  #note(error: unknown): void {
    if (this.#isKept) {
      const words = 'a resume would begin anew unless there is room for it later'
      this.#trouble = `the conversation is not kept any more: ${errorText(error)}; ${words}`
    }
    this.#isKept = false
  }

  #openCalls(): readonly CallPart[] {
    const last = this.#messages.findLastIndex(({ type }) => type === 'assistant')
    const answer = this.#messages[last]
    if (answer?.type !== 'assistant') return []
    const behind = this.#messages.slice(last + 1)
    const isAnswered = ({ id }: CallPart) =>
      behind.some((message) => message.type === 'result' && message.id === id)
    return callsOf(answer).filter((call) => !isAnswered(call))
  }
}

/** It is for people; the model never gets it. */
function withoutDiff(message: Message): Message {
  if (message.type !== 'result' || message.diff === undefined) return message
  const { diff: _, ...kept } = message
  return kept
}

/** Whether it is the one that is meant, and something would be lost with it. */
function isSame({ print }: Head, { entries }: Kept): boolean {
  const [first] = entries
  return first?.type === 'begin' && first.print === print && entries.some(isOwnAnswer)
}

function errorResult({ id, name }: CallPart, text: string): ResultEntry {
  return { type: 'result', id, name, text, isError: true }
}
