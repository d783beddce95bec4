import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
  readonly round: number
  readonly ended?: number
}

/** All attempts of a round of a step that have ended, in order. */
export function listAttempts(folder: string, { step, round, ended = 0 }: Round): Attempt[] {
  const path = dirname(join(folder, iterationPath({ step, round, iteration: 1 })))
  const named = namesIn(path).flatMap((name) => {
    const [, iteration, attempt = '1'] = /^(\d+)(?:\.(\d+))?\.json$/.exec(name) ?? []
    return iteration === undefined
      ? []
      : [{ iteration: Number(iteration), attempt: Number(attempt) }]
  })
  // Receipts may be missing after a full disk.
  const isWhole = new Set(named.map(({ iteration }) => iteration)).size >= ended
  const attempts = isWhole ? named : recordedAttempts(folder, { step, round })
  return attempts.toSorted((a, b) => a.iteration - b.iteration || a.attempt - b.attempt)
}

function recordedAttempts(folder: string, of: Round): Attempt[] {
  return [...readEventsOf(folder, ['iteration_ended'])]
    .filter(({ step, round = 1 }) => step === of.step && round === of.round)
    .map(({ iteration, attempt }) => ({ iteration, attempt }))
}

/** The newest receipts of a round of a step, in order, and the number of older ones. */
export function readNewest(
  folder: string,
  { count, ...of }: Round & { readonly count: number },
): { readonly receipts: Receipt[]; readonly older: number } {
  const { step, round } = of
  const attempts = listAttempts(folder, of)
  const newest = attempts.slice(-count)
  const receipts = newest.flatMap(
    ({ iteration, attempt }) => readReceipt(folder, step, iteration, attempt, round) ?? [],
  )
  return { receipts, older: attempts.length - newest.length }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
