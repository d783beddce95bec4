/** Which attempt of which iteration; the first round and the first attempt need not be said. */
export interface IterationPlace {
  readonly step: number
  readonly round?: number | undefined
  readonly iteration: number
  readonly attempt?: number | undefined
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
