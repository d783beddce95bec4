import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { statOf, writeAll } from '../../base/files.ts'
import { unmask } from '../../base/mask.ts'
import type { Entry } from './entry.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What keeps secrets out of a record. */
export type MaskData = <Data>(data: Data) => Data

const NEWLINE = 10

/** A conversation on disk: a line for each entry, written before anything follows from it. */
export class ConversationFile {
  readonly #fd: number
  readonly #mask: MaskData

  private constructor(fd: number, mask: MaskData) {
    this.#fd = fd
    this.#mask = mask
  }

  /** Another one that was there is kept beside it: somebody has paid for it. */
  static create(path: string, mask: MaskData): ConversationFile {
    mkdirSync(dirname(path), { recursive: true })
    if (statOf(path)?.isFile() === true) renameSync(path, freeName(path))
    return new ConversationFile(openSync(path, 'w', 0o600), mask)
  }

  /** Goes on behind the last whole line: of a torn one nothing has followed. */
  static goOn(path: string, wholeBytes: number, mask: MaskData): ConversationFile {
    const fd = openSync(path, 'r+', 0o600)
    ftruncateSync(fd, wholeBytes)
    closeSync(fd)
    return new ConversationFile(openSync(path, 'a', 0o600), mask)
  }

  append(entry: Entry): void {
    const masked = withMeta(this.#mask(entry), entry)
    const line = JSON.stringify({ at: new Date().toISOString(), ...masked })
    writeAll(this.#fd, Buffer.from(`${line}\n`))
  }

  close(): void {
    closeSync(this.#fd)
  }
}

function freeName(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}.${number}`
    if (statOf(name) === undefined) return name
  }
}

/** What is signed, or meant for the provider alone, is of no use to it with a hole. */
function withMeta(masked: Entry, entry: Entry): Entry {
  if (masked.type !== 'assistant' || entry.type !== 'assistant' || masked === entry) return masked
  const parts = masked.parts.map((part, index) => {
    const { meta } = entry.parts[index]!
    return meta === undefined ? part : { ...part, meta }
  })
  return { ...masked, parts }
}

/** What is kept of a conversation, with its secrets, and how many bytes of the file that is. */
export interface Kept {
  readonly entries: readonly Entry[]
  readonly bytes: number
}

/** Undefined where there is nothing that could go on. */
export function readConversation(path: string, env: Environment): Kept | undefined {
  const content = readIfThere(path)
  if (content === undefined) return undefined
  const entries: Entry[] = []
  let bytes = 0
  for (let end = content.indexOf(NEWLINE); end !== -1; end = content.indexOf(NEWLINE, bytes)) {
    const entry = parseEntry(content.toString('utf8', bytes, end))
    if (entry === undefined) break
    entries.push(entry)
    bytes = end + 1
  }
  return entries[0]?.type === 'begin' ? { entries: withSecrets(entries, env), bytes } : undefined
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

const TYPES = ['begin', 'user', 'assistant', 'result', 'end']

function parseEntry(line: string): Entry | undefined {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value !== 'object' || value === null || !('type' in value)) return undefined
    return TYPES.includes(String(value.type)) ? (value as Entry) : undefined
  } catch {
    return undefined
  }
}

/** Most conversations hold none. */
function withSecrets(entries: readonly Entry[], env: Environment): readonly Entry[] {
  return unmask(entries, env).value
}
