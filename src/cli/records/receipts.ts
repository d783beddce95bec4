import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { iterationPath } from '../../journal/places.ts'
import { readReceipt } from '../../journal/read-receipt.ts'
import type { Receipt } from '../../journal/receipt.ts'

/** One try of an iteration that left a receipt. */
interface Attempt {
  readonly iteration: number
  readonly attempt: number
}

/** All tries of a round of a step that have ended, in order. */
export function listAttempts(folder: string, step: number, round: number): Attempt[] {
  const path = dirname(join(folder, iterationPath({ step, round, iteration: 1 })))
  return namesIn(path)
    .flatMap((name) => {
      const [, iteration, attempt = '1'] = /^(\d+)(?:\.(\d+))?\.json$/.exec(name) ?? []
      return iteration === undefined
        ? []
        : [{ iteration: Number(iteration), attempt: Number(attempt) }]
    })
    .toSorted((a, b) => a.iteration - b.iteration || a.attempt - b.attempt)
}

/** The newest receipts of a round of a step, in order, and how many there are besides. */
export function readNewest(
  folder: string,
  { step, round, count }: { step: number; round: number; count: number },
): { readonly receipts: Receipt[]; readonly older: number } {
  const attempts = listAttempts(folder, step, round)
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
