import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '../../src/records/events/event.ts'
import type { RunEvent } from '../../src/records/events/schema.ts'

/** Ids of the recorded runs of a project, oldest first. */
export function runsOf(cwd: string): string[] {
  const root = join(cwd, 'forge/orch/runs')
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((name) => !name.startsWith('.'))
    .toSorted()
}

/** The events of a run, without an incomplete last line. */
export function journalOf(cwd: string, run: string): RunEvent[] {
  const path = join(cwd, 'forge/orch/runs', run, 'events.ndjson')
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as RunEvent)
}

export function ofType<Type extends RunEvent['type']>(
  events: readonly RunEvent[],
  type: Type,
): EventOf<Type>[] {
  return events.filter((event): event is EventOf<Type> => event.type === type)
}
