import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { writeAll } from '../../base/files.ts'
import type { History, Keeping } from './history.ts'

/**
 * What was heard of an answer that is not over, written before anybody is shown it: whatever ends
 * the conversation in the middle of it, the words are there when it goes on.
 */
export class Heard {
  readonly #keeping: Keeping | undefined
  readonly #history: History
  #fd: number | undefined
  #text = ''
  /** What is heard cannot be written. */
  #isLost = false

  constructor(keeping: Keeping | undefined, history: History) {
    this.#keeping = keeping
    this.#history = history
  }

  /** Puts what an earlier process has heard last where it belongs. */
  takeUp(): void {
    if (this.#keeping === undefined) return
    const { count, text } = readHeard(this.#keeping)
    // Otherwise the whole answer came behind it.
    if (count === this.#history.messages.length) this.#say(text)
    this.#remove()
  }

  get text(): string {
    return this.#text
  }

  /** `masked` is what a record may hold of it. */
  add(text: string, masked: string): void {
    this.#text += text
    if (masked !== '') this.#write(masked)
  }

  /** The whole answer is there, or another one is asked for. */
  clear(): void {
    this.#text = ''
    this.#remove()
  }

  /** Nothing more will come. */
  keep(): void {
    this.#say(this.#text)
    this.clear()
  }

  #say(text: string): void {
    if (text.trim() === '') return
    this.#history.add({ type: 'assistant', parts: [{ type: 'text', text: text.trimEnd() }] })
  }

  #write(text: string): void {
    if (this.#keeping === undefined || this.#isLost) return
    try {
      this.#fd ??= begin(heardPath(this.#keeping), this.#history.messages.length)
      writeAll(this.#fd, Buffer.from(text))
    } catch {
      // The answer is worth more, and whoever keeps all of it tells of the same trouble.
      this.#isLost = true
    }
  }

  #remove(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    if (this.#keeping !== undefined) rmSync(heardPath(this.#keeping), { force: true })
  }
}

function heardPath({ path }: Pick<Keeping, 'path'>): string {
  return path.replace(/(?:\.ndjson)?$/, '.heard')
}

function begin(path: string, count: number): number {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, 'w', 0o600)
  writeAll(fd, Buffer.from(`${count}\n`))
  return fd
}

/** `count` is how many messages there were before it. */
export function readHeard(keeping: Pick<Keeping, 'path'>): {
  readonly count: number | undefined
  readonly text: string
} {
  const [count, ...lines] = readIfThere(heardPath(keeping)).split('\n')
  // What is masked in it stays so: a mask of ours and the same words of the model look alike here.
  return { count: /^\d+$/.test(count!) ? Number(count) : undefined, text: lines.join('\n') }
}

function readIfThere(path: string): string {
  try {
    return new TextDecoder().decode(readFileSync(path))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return ''
    throw error
  }
}
