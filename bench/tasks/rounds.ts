import { argvOf, Failed, timeOfCall, tryOut, type Bench, type Command } from './tool.ts'

/** How long, and how often at most, one command is repeated. */
export interface Patience {
  readonly rounds: number
  readonly budgetMs: number
}

export type Timing =
  | { readonly kind: 'measured'; readonly ms: number; readonly rounds: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'too slow' }

/** Slower commands are measured once. */
const ONCE_MS = 20_000
/** Faster commands are sensitive to cold caches. */
const QUICK_MS = 100

interface Entry {
  readonly argv: (turn: number) => readonly string[]
  readonly warmUp: readonly string[] | undefined
  readonly rounds: number
  readonly samples: number[]
  failure?: string
  readonly bench: Bench
}

/** Medians of one command of several tools, measured in turns with the empty program. */
export function measureCommand(
  command: Command,
  benches: readonly Bench[],
  empty: string,
  patience: Patience,
): { readonly empty: number; readonly timings: readonly Timing[] } {
  const trials = benches.map((bench) => tryOut(bench, command))
  const entries = benches.map((bench, index) => {
    const trial = trials[index]!
    const ms = trial.kind === 'worked' ? trial.ms : Infinity
    return makeEntry(bench, command, ms, patience)
  })
  const base: Entry = {
    argv: () => [empty],
    warmUp: [empty],
    rounds: patience.rounds,
    samples: [],
    bench: benches[0]!,
  }
  takeTurns([base, ...entries], patience.rounds)
  const timings = trials.map((trial, index): Timing => {
    if (trial.kind !== 'worked') return trial
    const { samples, failure } = entries[index]!
    if (failure !== undefined) return { kind: 'failed', why: failure }
    const counted = samples.length === 0 ? [trial.ms] : samples
    return { kind: 'measured', ms: median(counted), rounds: counted.length }
  })
  return { empty: median(base.samples), timings }
}

function makeEntry(bench: Bench, command: Command, ms: number, patience: Patience): Entry {
  const affordable = Math.max(1, Math.floor(patience.budgetMs / ms))
  return {
    argv: (turn) => argvOf(bench, command, turn),
    warmUp: ms < QUICK_MS ? argvOf(bench, 'start', 0) : undefined,
    rounds: ms > ONCE_MS ? 0 : Math.min(patience.rounds, affordable),
    samples: [],
    bench,
  }
}

/** Slow tools skip rounds evenly, so that the load of the machine affects all tools alike. */
function takeTurns(entries: readonly Entry[], rounds: number): void {
  for (let round = 0; round < rounds; round++) {
    for (const entry of entries) {
      const due = Math.floor(((round + 1) * entry.rounds) / rounds)
      if (due === Math.floor((round * entry.rounds) / rounds)) continue
      takeTurn(entry, round + 1)
    }
  }
}

/** A peer that fails is marked in the table, and the others continue. */
function takeTurn(entry: Entry, turn: number): void {
  if (entry.failure !== undefined) return
  try {
    // Not counted: after another program, the processor's caches would be cold.
    if (entry.warmUp !== undefined) timeOfCall(entry.warmUp, entry.bench)
    entry.samples.push(timeOfCall(entry.argv(turn), entry.bench))
  } catch (error) {
    if (!(error instanceof Failed)) throw error
    entry.failure = error.message
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
