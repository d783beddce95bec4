/** The events of a run. */
export const EVENTS = 'events.ndjson'

/** An attempt of an iteration; round and attempt are 1 by default. */
export interface IterationPlace {
  readonly step: number
  /** Contains the copy of the step, if it has copies. */
  readonly scope?: readonly string[] | undefined
  readonly round?: number | undefined
  readonly iteration: number
  readonly attempt?: number | undefined
}

/** The path of a task's log inside the record, without its extension. */
export function taskPath(task: string, attempt: number): string {
  // Names are checked when tasks are queued; this keeps the path inside the record in any case.
  const name = task.replaceAll(/[^\p{L}\p{M}\p{N}._-]/gu, '_')
  return `tasks/${Buffer.byteLength(name) > LONGEST_BYTES ? shortened(name) : name}.${attempt}`
}

/** File names may have 255 bytes; the attempt and an extension follow. */
const LONGEST_BYTES = 200

function shortened(name: string): string {
  return `${name.slice(0, 40).toWellFormed()}-${Bun.hash(name).toString(36)}`
}

/** The path of an iteration's log and receipt inside the record, without the extension. */
export function iterationPath(place: IterationPlace): string {
  const { step, scope = [], round = 1, iteration, attempt = 1 } = place
  // A copy inside a copy of a group has both numbers.
  const copies = scope.filter((part) => /^c\d+$/.test(part)).map((part) => part.slice(1))
  const copy = copies.length === 0 ? '' : `/copy-${copies.join('.')}`
  const again = round === 1 ? '' : `/round-${round}`
  const repeated = attempt === 1 ? '' : `.${attempt}`
  return `steps/${step}${copy}${again}/iterations/${iteration}${repeated}`
}

export function promptPath(hash: string): string {
  return `prompts/${hash}.txt`
}

/** Identifies a running iteration or task. */
export function scopeKey(scope: readonly string[]): string {
  return scope.join('/')
}
