import { printable } from '../../base/terminal/printable.ts'
import * as ask from '../../host/records/ask-run.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { waitsOf } from '../../records/events/waits.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { currentStep, openBranches } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { printResult } from '../print.ts'
import { recordsFor, runArgument } from './choose-run.ts'

export async function stopRun(input: Input): Promise<number> {
  const isNow = input.flag('now')
  const run = ask.stopRun(recordsFor(input), runArgument(input), isNow)
  if (isNow)
    return answer(input, run, 'stop-now', `Run ${run.id} is being stopped at ${placeOf(run)}.`)
  if (run.state.ended !== undefined) {
    return answer(
      input,
      run,
      'stop',
      `Run ${run.id} will start no more tasks; running tasks will finish.`,
    )
  }
  const when = run.status === 'waiting' ? 'will stop waiting and exit at' : 'will stop after'
  return answer(input, run, 'stop', `Run ${run.id} ${when} ${placeOf(run)}.`)
}

export async function retryNow(input: Input): Promise<number> {
  const run = ask.retryNow(recordsFor(input), runArgument(input))
  return answer(
    input,
    run,
    'retry-now',
    `Run ${run.id}: wait cancelled, retrying ${waitingIn(run)}.`,
  )
}

function waitingIn(run: RunBrief): string {
  const names = waitsOf(run.state).flatMap(({ scope }) => branchName(run.state, scope) ?? [])
  return names.length === 0 ? placeOf(run) : printable([...new Set(names)].join(', '))
}

function placeOf({ state }: RunBrief): string {
  const branches = openBranches(state)
  if (branches.length > 1) return `the current iterations of ${branches.length} branches`
  const step = currentStep(state)
  if (step === undefined) return state.ended === undefined ? 'its end' : 'its queue'
  const { number, agent, iterations, maxIterations } = step
  const of = maxIterations === undefined ? '' : `/${maxIterations}`
  return printable(`iteration ${Math.max(1, iterations)}${of} of step ${number}, ${agent}`)
}

function answer(input: Input, run: RunBrief, asked: string, words: string): number {
  const step = currentStep(run.state)
  const place = { step: step?.number, iteration: step?.iterations }
  return printResult(input, { ok: true, run: run.id, asked, ...place }, words)
}
