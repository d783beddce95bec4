import { UserError } from '../../base/errors.ts'
import type { StepState } from '../../events/step-state.ts'
import { recordPlaces, type RecordPlaces } from '../../journal/record-folder.ts'
import { findRun, unreadableNewerThan, type RunBrief } from '../../journal/runs.ts'
import { UsageError, type Input } from '../command.ts'
import { projectOf } from '../project.ts'

/** Where the records of the project are. */
export type Places = RecordPlaces<readonly [string, ...string[]]>

export function recordsOf(input: Input): Places {
  const { roots, origins } = recordPlaces(projectOf(input), process.env)
  const [first, ...others] = roots
  if (first !== undefined) return { roots: [first, ...others], origins }
  throw new UserError(
    'There is no place for records: HOME is not an absolute path.',
    'Make a folder forge/ in the project, or set HOME.',
  )
}

/** What was typed in the place of a run. */
export function runWord(input: Input): string | undefined {
  const [word, ...more] = [...input.positionals, ...input.rest]
  if (more[0] !== undefined) throw new UsageError(`Unexpected argument '${more[0]}'.`)
  return word
}

/** The run that a person means; the newest where nobody says which. */
export function chooseRun(input: Input, places: Places): RunBrief {
  const word = runWord(input)
  const run = findRun(places, word)
  const unreadable = word === undefined ? unreadableNewerThan(places, run.id) : []
  for (const id of unreadable) {
    const line = `the record of the newer run ${id} cannot be read; this is run ${run.id}`
    console.error(`[forkhestra] Warning: ${line}`)
  }
  return run
}

/** The step of that number, which a run may not have. */
export function stepOf({ id, state }: Pick<RunBrief, 'id' | 'state'>, number: number): StepState {
  const step = state.steps.find((each) => each.number === number)
  if (step !== undefined) return step
  throw new UserError(`Run ${id} has no step ${number}.`, `See: forkhestra show ${id}`)
}

/** A whole number that an option gives. */
export function readNumber(input: Input, option: string, least = 1): number | undefined {
  const text = input.text(option)
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : -1
  if (value >= least) return value
  throw new UsageError(
    `--${option} is '${text}', expected a whole number${least > 0 ? ` from ${least} on` : ''}.`,
  )
}
