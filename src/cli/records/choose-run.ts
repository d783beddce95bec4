import { parseDuration } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import { readWhole } from '../../base/numbers.ts'
import { recordsOf, type ProjectRecords } from '../../host/records/place.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { findRun, unreadableNewerThan, type RunBrief } from '../../records/journal/runs.ts'
import { copyNumber } from '../../views/copies.ts'
import { describeChain, type RecordedRun } from '../../views/runs.ts'
import { UsageError, type Input } from '../command.ts'
import { frontEndOf, notice } from '../front-end.ts'

export function recordsFor(input: Input): ProjectRecords {
  return recordsOf(frontEndOf(input))
}

/** The run named on the command line. */
export function runArgument(input: Input): string | undefined {
  const [word, ...more] = [...input.positionals, ...input.rest]
  if (more[0] !== undefined) throw new UsageError(`Unexpected argument '${more[0]}'.`)
  return word
}

/** The named run, or the newest. */
export function chooseRun(input: Input, places: ProjectRecords): RunBrief {
  const word = runArgument(input)
  const run = findRun(places, word)
  const unreadable = word === undefined ? unreadableNewerThan(places, run.id) : []
  for (const id of unreadable)
    notice(`Warning: the record of the newer run ${id} cannot be read; using run ${run.id}`)
  return run
}

/** The copies of the step with that number, or one of them; throws if the run does not have it. */
export function findSteps(
  { id, state }: Pick<RunBrief, 'id' | 'state'>,
  number: number,
  copy: string | undefined,
): StepState[] {
  const steps = state.steps.filter((each) => each.number === number)
  const found = steps.filter((step) => copy === undefined || copyNumber(step) === `#${copy}`)
  if (found.length > 0) return found
  const what =
    steps.length === 0
      ? `Run ${id} has no step ${number}`
      : `Step ${number} of run ${id} has no copy ${copy}`
  throw new UserError(`${what}.`, `See: forkhestra show ${id}`)
}

/** Identifies a copy of a step: `2`, or `1.2` for the second one in the first copy of a group. */
export function readCopy(input: Input): string | undefined {
  const copy = input.text('copy')
  if (copy === undefined) return undefined
  if (input.text('step') === undefined)
    throw new UsageError('--copy needs --step.', 'For example: --step 1 --copy 2')
  if (/^[1-9]\d*(?:\.[1-9]\d*)*$/.test(copy)) return copy
  throw new UsageError(
    `--copy is '${copy}', expected the number of a copy.`,
    'For example: --copy 2',
  )
}

/** The value of an option that takes a whole number. */
export function readNumber(input: Input, option: string, least = 1): number | undefined {
  const text = input.text(option)
  return text === undefined ? undefined : readWhole(`--${option}`, text, { least })
}

/** Which runs a list is about; `since` is a time in ms. */
export interface RunFilter {
  readonly isFailed: boolean
  readonly chain: string | undefined
  readonly since: number
}

export function readFilter(input: Input): RunFilter {
  return { isFailed: input.flag('failed'), chain: input.text('chain'), since: readSince(input) }
}

/** The time in ms from which on something is shown. */
export function readSince(input: Input): number {
  const text = input.text('since')
  return text === undefined ? 0 : Date.now() - parseDuration(text, '--since')
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'stopped', 'dead'])

/** Whether a run is in a list; active runs are in every list since some time. */
export function isListed(run: RecordedRun, { isFailed, chain, since }: RunFilter): boolean {
  const { status, state } = run
  const isActive = status === 'running' || status === 'waiting'
  const last = state.ended?.at ?? state.clock ?? state.startedAt ?? 0
  return (
    (!isFailed || FAILED.has(status)) &&
    (chain === undefined || chain === state.chain || chain === describeChain(run)) &&
    (isActive || new Date(last).getTime() >= since)
  )
}
