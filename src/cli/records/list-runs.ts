import { printable } from '../../base/terminal/printable.ts'
import { describeRun, type QueuedBrief } from '../../host/records/describe-run.ts'
import { describeForeign, isOwnOrUnsigned } from '../../host/records/foreign.ts'
import { readAllRuns } from '../../host/records/with-queue.ts'
import { wrapWords } from '../../views/layout.ts'
import { durationOf, orphansOption, renderRuns, resumeCommand } from '../../views/runs.ts'
import { UsageError, type Input } from '../command.ts'
import { print, printPainted, stdoutLayout } from '../print.ts'
import { isListed, readFilter, recordsFor } from './choose-run.ts'

export async function listRecordedRuns(input: Input): Promise<number> {
  const filter = readFilter(input)
  const compare = readOrder(input.text('sort'))
  const { root, runs: all, broken } = readAllRuns(recordsFor(input))
  const now = Date.now()
  const found = all.filter((run) => isListed(run, filter))
  const runs = compare === undefined ? found : found.toSorted((a, b) => compare(a, b, now))
  const code = runs.some(({ unreadable }) => unreadable !== undefined) ? 1 : 0
  if (input.flag('json')) {
    print(JSON.stringify({ root, runs: runs.map((run) => describeRun(run, now)), broken }))
    return code
  }
  if (all.length === 0) print(`No runs recorded in ${root}`)
  else if (runs.length === 0) print('No run matches; all runs: forkhestra runs')
  const layout = stdoutLayout()
  const lines = [
    ...runs.flatMap(remarksOn),
    ...broken.map((id) => `The record of ${id} cannot be read`),
  ]
  const shown = [
    ...renderRuns(runs, now, layout),
    ...lines.flatMap((line) => wrapWords(printable(line), layout)),
  ]
  if (shown.length > 0) printPainted(shown)
  return code
}

/** What a person should know about a run besides its line. */
function remarksOn(run: QueuedBrief): string[] {
  const { id, status, foreign, unreadable } = run
  const resume = `${resumeCommand(id, run.isChat)}${orphansOption(run)}`
  return [
    ...(status === 'dead' && foreign === undefined
      ? [`The process of run ${id} is dead; resume it: ${resume}`]
      : []),
    ...(unreadable === undefined ? [] : [`The queue of ${id}: ${unreadable}`]),
    ...(isOwnOrUnsigned(run)
      ? []
      : [`Run ${id} was not created here: ${describeForeign(foreign)}`]),
  ]
}

type Compare = (one: QueuedBrief, other: QueuedBrief, now: number) => number

const ORDERS: Readonly<Record<string, Compare | undefined>> = {
  started: undefined,
  time: (one, other, now) => durationOf(other, now) - durationOf(one, now),
  cost: (one, other) => other.state.spent.costUsd - one.state.spent.costUsd,
}

export const RUN_ORDERS = Object.keys(ORDERS)

/** Undefined if the order is that of the records: the newest first. */
function readOrder(text = 'started'): Compare | undefined {
  if (Object.hasOwn(ORDERS, text)) return ORDERS[text]
  throw new UsageError(`--sort is '${text}'.`, `Use one of: ${RUN_ORDERS.join(', ')}.`)
}
