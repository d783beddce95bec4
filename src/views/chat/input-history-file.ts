import { appendFileSync, chmodSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import { makePrivateFolder } from '../../base/private-folder.ts'
import { stateFolder } from '../../base/state-folder.ts'
import { MOST } from './input-history.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Readable by the user only. */
const MODE = 0o600

/** Where what was typed is kept, over all chats; undefined where the user has no folder for it. */
export function historyPath(env: Environment): string | undefined {
  const folder = stateFolder(env)
  return folder && join(folder, 'chat-history')
}

/** What was typed in earlier chats, oldest first; each a line of JSON. */
export function readInputHistory(path: string | undefined): string[] {
  if (path === undefined) return []
  const lines = readIfPossible(path).split('\n').filter(Boolean)
  const entries = lines.flatMap(readEntry)
  if (lines.length > 2 * MOST) rewrite(path, entries.slice(-MOST))
  return entries.slice(-MOST)
}

/** Whether it was kept: a chat without a history is still a chat. */
export function appendToHistory(path: string | undefined, text: string): boolean {
  if (path === undefined) return false
  try {
    makePrivateFolder(dirname(path))
    appendFileSync(path, `${JSON.stringify(text)}\n`, { mode: MODE })
    chmodSync(path, MODE)
    return true
  } catch {
    return false
  }
}

function rewrite(path: string, entries: readonly string[]): void {
  try {
    const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
    writeFileAtomic(path, text, { durable: false, mode: MODE })
  } catch {
    // It is tried again by the next chat.
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

function readIfPossible(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
