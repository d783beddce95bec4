import { parseJson } from '../base/json.ts'
import type { RunEvent } from '../events/schema.ts'

/** The event of a line, or undefined where a crash left something else there. */
export function parseEvent(line: string): RunEvent | undefined {
  try {
    const event = parseJson(line)
    const isEvent = typeof event === 'object' && event !== null && 'type' in event
    return isEvent ? (event as RunEvent) : undefined
  } catch {
    return undefined
  }
}

/** How a line begins that holds an event of that type. */
export function beginningOf(type: RunEvent['type']): Buffer {
  return Buffer.from(`{"type":"${type}"`)
}

export function beginsWith(bytes: Buffer, from: number, to: number, beginning: Buffer): boolean {
  if (to - from < beginning.length) return false
  // From the back: all lines begin in the same way.
  for (let i = beginning.length - 1; i >= 0; i--) {
    if (bytes[from + i] !== beginning[i]) return false
  }
  return true
}
