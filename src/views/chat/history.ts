import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { tryOr } from '../../base/errors.ts'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import { makePrivateFolder } from '../../base/private-folder.ts'
import { stateFolder } from '../../base/state-folder.ts'

const MOST = 1000
/** Readable only by the user. */
const MODE = 0o600

/** Earlier inputs and the position among them; past the last one is the current input. */
export interface InputHistory {
  readonly entries: readonly string[]
  readonly at: number
  readonly draft: string
}

export function makeInputHistory(entries: readonly string[]): InputHistory {
  const kept = entries.slice(-MOST)
  return { entries: kept, at: kept.length, draft: '' }
}

/** The previous or next input; undefined at the end. `text` is the current input. */
export function look(
  { entries, at, draft }: InputHistory,
  direction: -1 | 1,
  text: string,
): { readonly past: InputHistory; readonly text: string } | undefined {
  const next = at + direction
  if (next < 0 || next > entries.length) return undefined
  const kept = at === entries.length ? text : draft
  return { past: { entries, at: next, draft: kept }, text: entries[next] ?? kept }
}

/** Adds an input, unless it repeats the last one. */
export function remember({ entries }: InputHistory, text: string): InputHistory {
  return makeInputHistory(entries.at(-1) === text ? entries : [...entries, text])
}

/** The inputs of all chats on disk, one JSON line each. A chat works without this file. */
export class HistoryFile {
  readonly #path: string | undefined

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const folder = stateFolder(env)
    this.#path = folder && join(folder, 'chat-history')
  }

  /** Oldest first. */
  read(): string[] {
    return (
      this.#try((path) => {
        const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
        const entries = lines.flatMap(readEntry).slice(-MOST)
        if (lines.length > 2 * MOST) this.#rewrite(entries)
        return entries
      }) ?? []
    )
  }

  add(text: string): void {
    this.#try((path) => {
      makePrivateFolder(dirname(path))
      appendFileSync(path, `${JSON.stringify(text)}\n`, { mode: MODE })
      chmodSync(path, MODE)
    })
  }

  #rewrite(entries: readonly string[]): void {
    const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    this.#try((path) => writeFileAtomic(path, text, { durable: false, mode: MODE }))
  }

  #try<Result>(work: (path: string) => Result): Result | undefined {
    return tryOr(undefined, () => (this.#path === undefined ? undefined : work(this.#path)))
  }
}

function readEntry(line: string): string[] {
  try {
    const value = parseJson(line)
    return typeof value === 'string' ? [value] : []
  } catch {
    return []
  }
}
