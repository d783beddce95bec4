import {
  closeSync,
  constants,
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
import { errorCode } from '../../../base/errors.ts'
import { statOf, writeAll } from '../../../base/files.ts'
import { parseJson } from '../../../base/json.ts'
import { mapStrings, unmask } from '../../../base/secrets/mask.ts'
import type { Environment } from '../../../base/environment.ts'
import type { Entry, Head } from './entry.ts'

export type MaskData = <Data>(data: Data) => Data

const NEWLINE = 10
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

const sync = promisify(fdatasync)

/** A conversation on disk: one line per entry, written before anything acts on it. */
export class ConversationFile {
  readonly #path: string
  readonly #fd: number
  readonly #mask: MaskData
  /** Size of the complete lines. */
  #size: number
  /** Lines that could not be written yet because the disk was full. */
  #unwritten: Buffer[] = []
  /** The path of the file while lines are missing from it. */
  #aside: string | undefined

  private constructor(path: string, size: number, mask: MaskData) {
    this.#path = path
    this.#fd = openSync(path, APPEND, 0o600)
    this.#size = size
    this.#mask = mask
  }

  /** Renames an existing file instead of replacing it: its answers were paid for. */
  static create(path: string, mask: MaskData): ConversationFile {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    if (statOf(path)?.isFile() === true) renameSync(path, freeName(path))
    return new ConversationFile(path, 0, mask)
  }

  /** Continues after the last complete line; nothing has acted on an incomplete one. */
  static resume(path: string, wholeBytes: number, mask: MaskData): ConversationFile {
    const file = new ConversationFile(path, wholeBytes, mask)
    ftruncateSync(file.#fd, wholeBytes)
    return file
  }

  /** Also writes earlier lines that failed; throws if the disk is still full. */
  append(entry: Entry): void {
    const own = escapeMasks(entry)
    const masked = withMeta(this.#mask(own), own)
    const line = JSON.stringify({ at: new Date().toISOString(), ...masked })
    this.#unwritten.push(Buffer.from(`${line}\n`))
    this.#write()
  }

  /** Returns when everything written would survive a power failure. */
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

  /** Renames the file, because a conversation with missing lines must not be resumed. */
  #putAside(): void {
    if (!fstatSync(this.#fd).isFile()) return
    try {
      ftruncateSync(this.#fd, this.#size)
      const name = this.#aside ?? freeName(this.#path)
      if (this.#aside === undefined) renameSync(this.#path, name)
      this.#aside = name
    } catch {
      // The first problem is already reported; the file stays where it is.
    }
  }
}

function freeName(path: string): string {
  for (let number = 1; ; number += 1) {
    const name = `${path}.${number}`
    if (statOf(name) === undefined) return name
  }
}

/** Signed data is useless to the provider once part of it is masked, so it is stored unmasked. */
function withMeta(masked: Entry, entry: Entry): Entry {
  if (masked.type !== 'assistant' || entry.type !== 'assistant' || masked === entry) return masked
  const parts = masked.parts.map((part, index) => {
    const { meta } = entry.parts[index]!
    return meta === undefined ? part : { ...part, meta }
  })
  return { ...masked, parts }
}

/** The complete entries of a stored conversation, unmasked, and their size in the file. */
export interface SavedConversation {
  readonly head: Head
  readonly entries: readonly Entry[]
  readonly bytes: number
}

/** Undefined if there is nothing to resume. */
export function readConversation(path: string, env: Environment): SavedConversation | undefined {
  const content = readIfExists(path)
  if (content === undefined) return undefined
  const entries: Entry[] = []
  let bytes = 0
  for (let end = content.indexOf(NEWLINE); end !== -1; end = content.indexOf(NEWLINE, bytes)) {
    const entry = parseEntry(content.toString('utf8', bytes, end))
    if (entry === undefined) break
    entries.push(entry)
    bytes = end + 1
  }
  const restored = restoreSecrets(entries, env)
  const [head] = restored
  return head?.type === 'begin' ? { head, entries: restored, bytes } : undefined
}

export function readIfExists(path: string): Buffer | undefined {
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

const MASK = '[masked'

/**
 * Escapes text that looks like one of our masks, with one more `!`. Otherwise a file that contains
 * the mask of a secret would get the secret itself when the conversation is resumed.
 */
function escapeMasks<Data>(data: Data): Data {
  if (!JSON.stringify(data).includes(MASK)) return data
  return mapStrings(data, (text) => text.replaceAll(/\[masked(!*)/g, '[masked!$1')) as Data
}

/** Restores masked secrets and removes the escapes. */
function restoreSecrets<Data>(data: Data, env: Environment): Data {
  return mapStrings(data, (text) => (text.includes(MASK) ? fillText(text, env) : text)) as Data
}

function fillText(text: string, env: Environment): string {
  const pieces = text.split(/(\[masked!+)/)
  const filled = pieces.map((piece, index) =>
    index % 2 === 1 ? piece.replace('!', '') : unmask(piece, env).value,
  )
  return filled.join('')
}
