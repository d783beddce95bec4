/** Which attempt of which iteration; the first round and the first attempt need not be said. */
export interface IterationPlace {
  readonly step: number
  readonly round?: number | undefined
  readonly iteration: number
  readonly attempt?: number | undefined
}

/** What the log of an attempt of a task is called in the folder of the run, up to the dot. */
export function taskPath(task: string, attempt: number): string {
  // Names are checked where tasks are queued; a record holds no other path, whatever was let in.
  const name = task.replaceAll(/[^\p{L}\p{M}\p{N}._-]/gu, '_')
  return `tasks/${Buffer.byteLength(name) > LONGEST_BYTES ? shortened(name) : name}.${attempt}`
}

/** A part of a path has room for 255 bytes, and an attempt and an ending come behind it. */
const LONGEST_BYTES = 200

/** A hundred letters may have four hundred bytes. */
function shortened(name: string): string {
  return `${name.slice(0, 40).toWellFormed()}-${Bun.hash(name).toString(36)}`
}

/** What the log and the receipt of an attempt are called in the folder of the run, up to the dot. */
export function iterationPath({ step, round = 1, iteration, attempt = 1 }: IterationPlace): string {
  const again = round === 1 ? '' : `/round-${round}`
  const repeated = attempt === 1 ? '' : `.${attempt}`
  return `steps/${step}${again}/iterations/${iteration}${repeated}`
}

/** Where a prompt is kept in the folder of the run. */
export function promptPath(hash: string): string {
  return `prompts/${hash}.txt`
}
