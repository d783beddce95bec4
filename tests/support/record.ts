import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EventOf } from '../../src/events/event.ts'
import type { RunEvent } from '../../src/events/schema.ts'

/** Ids of the runs that a project has records of, oldest first. */
export function runsOf(cwd: string): string[] {
  const root = join(cwd, 'forge/orch/runs')
  if (!existsSync(root)) return []
  return readdirSync(root)
    .filter((name) => !name.startsWith('.'))
    .toSorted()
}

/** What the journal of a run says; a last line that is torn is left out. */
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
