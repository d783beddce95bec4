import { UserError } from '../../base/errors.ts'
import { readWhole } from '../../base/numbers.ts'
import { recordsOf, type Places } from '../../host/records/place.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { findRun, unreadableNewerThan, type RunBrief } from '../../records/journal/runs.ts'
import { UsageError, type Input } from '../command.ts'
import { frontEndOf, notice } from '../front-end.ts'

/** Where the records of the project are. */
export function recordsFor(input: Input): Places {
  return recordsOf(frontEndOf(input))
}

/** The run named on the command line. */
export function runWord(input: Input): string | undefined {
  const [word, ...more] = [...input.positionals, ...input.rest]
  if (more[0] !== undefined) throw new UsageError(`Unexpected argument '${more[0]}'.`)
  return word
}

/** The named run, or the newest. */
export function chooseRun(input: Input, places: Places): RunBrief {
  const word = runWord(input)
  const run = findRun(places, word)
  const unreadable = word === undefined ? unreadableNewerThan(places, run.id) : []
  for (const id of unreadable)
    notice(`Warning: the record of the newer run ${id} cannot be read; this is run ${run.id}`)
  return run
}

/** The step with that number; throws if the run has none. */
export function stepOf({ id, state }: Pick<RunBrief, 'id' | 'state'>, number: number): StepState {
  const step = state.steps.find((each) => each.number === number)
  if (step !== undefined) return step
  throw new UserError(`Run ${id} has no step ${number}.`, `See: forkhestra show ${id}`)
}

/** The whole number of an option. */
export function readNumber(input: Input, option: string, least = 1): number | undefined {
  const text = input.text(option)
  return text === undefined ? undefined : readWhole(`--${option}`, text, { least })
}
