import { parseJson } from '../../base/json.ts'
import type { RunEvent } from '../events/schema.ts'

/** The event of a line, or undefined if a crash left something else there. */
export function parseEvent(line: string): RunEvent | undefined {
  try {
    const event = parseJson(line)
    const isEvent = typeof event === 'object' && event !== null && 'type' in event
    return isEvent ? (event as RunEvent) : undefined
  } catch {
    return undefined
  }
}

/** The prefix of lines with an event of that type. */
export function prefixOf(type: RunEvent['type']): Buffer {
  return Buffer.from(`{"type":"${type}"`)
}

export function hasPrefix(bytes: Buffer, from: number, to: number, beginning: Buffer): boolean {
  if (to - from < beginning.length) return false
  // Backwards, because all lines begin alike.
  for (let i = beginning.length - 1; i >= 0; i--) {
    if (bytes[from + i] !== beginning[i]) return false
  }
  return true
}
