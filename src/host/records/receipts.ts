import { dirname, join } from 'node:path'
import { listNames } from '../../base/files.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { iterationPath } from '../../records/journal/paths.ts'
import { readReceipt, type Receipt } from '../../records/journal/receipt.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'

/** An attempt of an iteration that has ended. */
interface Attempt {
  readonly iteration: number
  readonly attempt: number
}

/** A round of a step, and how many of its iterations have ended, if known. */
interface Round {
  readonly step: number
  /** Contains its copy, if it has copies. */
  readonly scope: readonly string[]
  readonly round: number
  readonly ended?: number
}

/** All attempts of a round of a step that have ended, in order. */
export function listAttempts(folder: string, of: Round): Attempt[] {
  const { ended = 0 } = of
  const path = dirname(join(folder, iterationPath({ ...of, iteration: 1 })))
  const named = listNames(path).flatMap((name) => {
    const [, iteration, attempt = '1'] = /^(\d+)(?:\.(\d+))?\.json$/.exec(name) ?? []
    return iteration === undefined
      ? []
      : [{ iteration: Number(iteration), attempt: Number(attempt) }]
  })
  // Receipts may be missing after a full disk.
  const isWhole = new Set(named.map(({ iteration }) => iteration)).size >= ended
  const attempts = isWhole ? named : recordedAttempts(folder, of)
  return attempts.toSorted((a, b) => a.iteration - b.iteration || a.attempt - b.attempt)
}

function recordedAttempts(folder: string, of: Round): Attempt[] {
  const path = dirname(iterationPath({ ...of, iteration: 1 }))
  return [...readEventsOf(folder, ['iteration_ended'])]
    .filter((event) => dirname(iterationPath(event)) === path)
    .map(({ iteration, attempt }) => ({ iteration, attempt }))
}

/** Maximum number of iterations to list per step. */
const LISTED = 20

/** The newest iterations of a round of a step, by default of its last one, and the number of older ones. */
export function readNewest(
  folder: string,
  step: StepState,
  number: number | undefined,
): { readonly receipts: Receipt[]; readonly older: number } {
  const round = roundOf(step, number)
  const attempts = listAttempts(folder, round)
  const newest = attempts.slice(-LISTED)
  const receipts = newest.flatMap(
    ({ iteration, attempt }) => readReceipt(folder, { ...round, iteration, attempt }) ?? [],
  )
  return { receipts, older: attempts.length - newest.length }
}

/** A round of a step, by default the last one. */
export function roundOf(
  { key, number: step, rounds, iterations, running }: StepState,
  number: number | undefined,
): Round {
  const last = Math.max(1, rounds)
  const round = number ?? last
  const ended = running === undefined ? iterations : iterations - 1
  return { step, scope: key.split('/'), round, ...(round === last ? { ended } : {}) }
}
