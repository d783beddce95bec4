import { parseJson } from '../../base/json.ts'
import { isAmount } from '../../base/numbers.ts'
import type { LimitFact } from '../engine.ts'

/** An event of the stream; its fields differ between versions and must be checked. */
export type Event = Readonly<Record<string, unknown>>

/** Undefined if the line is not an event. */
export function parseEvent(line: string): Event | undefined {
  if (!line.trimStart().startsWith('{')) return undefined
  try {
    const value = asObject(parseJson(line))
    return typeof value?.['type'] === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

/** Reads a `rate_limit_event`. Ignores `overageStatus`, which is "rejected" for most users. */
export function readLimit(event: Event): LimitFact | undefined {
  const info = asObject(event['rate_limit_info'])
  const status = info?.['status']
  if (info === undefined || typeof status !== 'string') return undefined
  const { resetsAt, rateLimitType: kind, utilization } = info
  return {
    type: 'limit',
    status,
    ...(isTime(resetsAt) ? { resetsAt } : {}),
    ...(typeof kind === 'string' ? { kind } : {}),
    ...(isAmount(utilization) ? { utilization } : {}),
  }
}

/** Seconds since 1970, in the range of `Date`. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 8.64e12
}

export function asObject(value: unknown): Event | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Event)
    : undefined
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A value that is not a valid count is treated as not reported. */
export function asCount(value: unknown): number {
  return isAmount(value) ? value : 0
}
