import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { writeAll } from '../../../base/files.ts'
import { readIfExists } from './conversation-file.ts'
import type { History, ConversationStorage } from './history.ts'

/**
 * The streamed part of an answer, stored before it is shown, so that no interruption
 * loses it: the conversation is resumed with it.
 */
export class PartialAnswer {
  readonly #storage: ConversationStorage | undefined
  readonly #history: History
  #fd: number | undefined
  #text = ''
  /** The answer cannot be stored. */
  #isLost = false

  constructor(storage: ConversationStorage | undefined, history: History) {
    this.#storage = storage
    this.#history = history
  }

  /** Adds the partial answer of an earlier process to the history. */
  restore(): void {
    if (this.#storage === undefined) return
    const { count, text } = readPartialAnswer(this.#storage)
    // Otherwise the complete answer was stored after it.
    if (count === this.#history.messages.length) this.#say(text)
    this.#remove()
  }

  get text(): string {
    return this.#text
  }

  /** `masked` is the part that may be stored. */
  add(text: string, masked: string): void {
    this.#text += text
    if (masked !== '') this.#write(masked)
  }

  /** The answer is complete, or it is requested again. */
  clear(): void {
    this.#text = ''
    this.#remove()
  }

  /** Adds the partial answer to the history, because the rest will not arrive. */
  commit(): void {
    this.#say(this.#text)
    this.clear()
  }

  #say(text: string): void {
    if (text.trim() === '') return
    this.#history.add({ type: 'assistant', parts: [{ type: 'text', text: text.trimEnd() }] })
  }

  #write(text: string): void {
    if (this.#storage === undefined || this.#isLost) return
    try {
      this.#fd ??= begin(partialPath(this.#storage), this.#history.messages.length)
      writeAll(this.#fd, Buffer.from(text))
    } catch {
      // The answer continues; storing the complete one will report the problem.
      this.#isLost = true
    }
  }

  #remove(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    if (this.#storage !== undefined) rmSync(partialPath(this.#storage), { force: true })
  }
}

function partialPath({ path }: Pick<ConversationStorage, 'path'>): string {
  return path.replace(/(?:\.ndjson)?$/, '.heard')
}

const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
const REPLACE = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW

function begin(path: string, count: number): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, REPLACE, 0o600)
  writeAll(fd, Buffer.from(`${count}\n`))
  return fd
}

/** `count` is the number of messages before it. */
export function readPartialAnswer(storage: Pick<ConversationStorage, 'path'>): {
  readonly count: number | undefined
  readonly text: string
} {
  const [count, ...lines] = new TextDecoder().decode(readIfExists(partialPath(storage))).split('\n')
  // Masks are not restored: here they look the same as such text written by the model.
  return { count: /^\d+$/.test(count!) ? Number(count) : undefined, text: lines.join('\n') }
}
