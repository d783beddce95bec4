import {
  closeSync,
  fdatasync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { errorCode } from '../../base/errors.ts'
import { statOf, writeAll } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { Entry } from './entry.ts'
import { fillMasks, markForeign } from './masks.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** What keeps secrets out of a record. */
export type MaskData = <Data>(data: Data) => Data

const NEWLINE = 10

const sync = promisify(fdatasync)

/** A conversation on disk: a line for each entry, written before anything follows from it. */
export class ConversationFile {
  readonly #path: string
  readonly #fd: number
  readonly #mask: MaskData
  /** Of whole lines. */
  #size: number
  /** Lines for which there was no room yet. */
  #unwritten: Buffer[] = []
  /** Where the file is while a line is missing from it. */
  #aside: string | undefined

  private constructor(path: string, size: number, mask: MaskData) {
    this.#path = path
    this.#fd = openSync(path, 'a', 0o600)
    this.#size = size
    this.#mask = mask
  }

  /** Another one that was there is kept beside it: somebody has paid for it. */
  static create(path: string, mask: MaskData): ConversationFile {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    if (statOf(path)?.isFile() === true) renameSync(path, freeName(path))
    return new ConversationFile(path, 0, mask)
  }

  /** Goes on behind the last whole line: of a torn one nothing has followed. */
  static goOn(path: string, wholeBytes: number, mask: MaskData): ConversationFile {
    const file = new ConversationFile(path, wholeBytes, mask)
    ftruncateSync(file.#fd, wholeBytes)
    return file
  }

  /** With all that could not be written before; throws where there still is no room. */
  append(entry: Entry): void {
    const own = markForeign(entry)
    const masked = withMeta(this.#mask(own), own)
    const line = JSON.stringify({ at: new Date().toISOString(), ...masked })
    this.#unwritten.push(Buffer.from(`${line}\n`))
    this.#write()
  }

  /** Returns when all that is written would survive a power failure. */
  async sync(): Promise<void> {
    await sync(this.#fd)
  }

  close(): void {
    closeSync(this.#fd)
  }

  #write(): void {
    const bytes = Buffer.concat(this.#unwritten)
    try {
      writeAll(this.#fd, bytes)
      if (this.#aside !== undefined) renameSync(this.#aside, this.#path)
      this.#aside = undefined
    } catch (error) {
      this.#putAside()
      throw error
    }
    this.#unwritten = []
    this.#size += bytes.length
  }

  /** Nobody is to go on with a conversation from which something is missing. */
  #putAside(): void {
    if (!fstatSync(this.#fd).isFile()) return
    try {
      ftruncateSync(this.#fd, this.#size)
      const name = this.#aside ?? freeName(this.#path)
      if (this.#aside === undefined) renameSync(this.#path, name)
      this.#aside = name
    } catch {
      // The trouble is told already; where nothing at all can be done, the file stays.
    }
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
  return entries[0]?.type === 'begin' ? { entries: fillMasks(entries, env), bytes } : undefined
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
    const value = parseJson(line)
    if (typeof value !== 'object' || value === null || !('type' in value)) return undefined
    return TYPES.includes(String(value.type)) ? (value as Entry) : undefined
  } catch {
    return undefined
  }
}
