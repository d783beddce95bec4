import { statOf } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { OpenIterations } from './open-iterations.ts'
import { readTextIn } from './inside.ts'
import { iterationPath, type IterationPlace } from './paths.ts'
import { eventsPath, readEvents } from './read-run.ts'
import { makeReceipt, type Receipt } from './receipt.ts'

/** The receipt of an attempt, rebuilt from the events if its file is lost. */
export function readReceipt(
  folder: string,
  step: number,
  iteration: number,
  attempt = 1,
  round = 1,
): Receipt | undefined {
  const place = { step, iteration, attempt, round }
  try {
    return parseJson(readTextIn(folder, `${iterationPath(place)}.json`)) as Receipt
  } catch {
    return rebuild(folder, place)
  }
}

function rebuild(folder: string, place: Required<IterationPlace>): Receipt | undefined {
  if (statOf(eventsPath(folder)) === undefined) return undefined
  const iterations = new OpenIterations()
  let log: string | undefined
  for (const { event } of readEvents(folder)) {
    iterations.note(event)
    if (event.type === 'output' && isAt(event, place)) log = event.log
    if (event.type !== 'iteration_ended') continue
    if (isAt(event, place)) return makeReceipt(folder, iterations.find(event.scope), event, log)
    iterations.end(event.scope)
  }
  return undefined
}

function isAt(
  { step, iteration, attempt, round = 1 }: IterationPlace,
  place: Required<IterationPlace>,
): boolean {
  return (
    step === place.step &&
    iteration === place.iteration &&
    attempt === place.attempt &&
    round === place.round
  )
}
