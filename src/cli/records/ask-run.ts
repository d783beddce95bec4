import { NotNow, errorText } from '../../base/errors.ts'
import { lifeOf } from '../../base/process-identity.ts'
import { printable } from '../../base/printable.ts'
import { ask } from '../../journal/control.ts'
import { findRun, listRuns, type RunBrief } from '../../journal/runs.ts'
import { currentStep } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { checkOwn, isFamiliar } from './foreign.ts'
import { recordsOf, runWord, type Places } from './place.ts'

type Status = RunBrief['status']

/** The verb `stop`. */
export async function stopRun(input: Input): Promise<number> {
  const run = chooseOneThat(input, ['running', 'waiting'], 'under way')
  if (input.flag('now')) {
    // Its lock would say who gets the signal.
    checkOwn(run, recordsOf(input))
    interrupt(run)
    return answer(input, run, 'stop-now', `Run ${run.id} is being stopped at ${placeOf(run)}.`)
  }
  ask(run.folder, 'stop')
  if (run.state.ended !== undefined) {
    return answer(input, run, 'stop', `Run ${run.id} begins no more tasks; those at work finish.`)
  }
  const when = run.status === 'waiting' ? 'stops waiting and ends, at' : 'stops at the end of'
  return answer(input, run, 'stop', `Run ${run.id} ${when} ${placeOf(run)}.`)
}

/** The verb `retry-now`. */
export async function retryNow(input: Input): Promise<number> {
  const run = chooseOneThat(input, ['waiting'], 'waiting')
  ask(run.folder, 'retry-now')
  return answer(input, run, 'retry-now', `Run ${run.id} does not wait any longer: ${placeOf(run)}.`)
}

/** The run that was named, or the newest of which it is true. */
function chooseOneThat(input: Input, wanted: readonly Status[], words: string): RunBrief {
  const places = recordsOf(input)
  const word = runWord(input)
  const isWanted = ({ status }: RunBrief) => wanted.includes(status)
  const run = word === undefined ? newestThat(isWanted, places) : findRun(places, word)
  if (run === undefined)
    throw new NotNow(`No run is ${words} in ${places.roots[0]}`, 'See: forkhestra runs')
  if (!isFamiliar(run)) checkOwn(run, places)
  if (isWanted(run)) return run
  const hint = run.status === 'dead' ? `Go on with: forkhestra resume ${run.id}` : undefined
  throw new NotNow(`Run ${run.id} is not ${words}, it is ${run.status}.`, hint)
}

/** Those that were made here come first; one of 0.1.0 may still be under way. */
function newestThat(isWanted: (run: RunBrief) => boolean, places: Places): RunBrief | undefined {
  const runs = listRuns(places).filter((run) => isWanted(run) && isFamiliar(run))
  return runs.find(({ foreign }) => foreign === undefined) ?? runs[0]
}

/** A number of a process may long belong to another one, so its identity is asked for, too. */
function interrupt({ id, holder }: RunBrief): void {
  const life = holder === undefined ? 'dead' : lifeOf(holder.identity)
  if (holder === undefined || life === 'dead') {
    throw new NotNow(`The forkhestra of ${id} is gone.`, `Go on with: forkhestra resume ${id}`)
  }
  if (life === 'unknown') {
    throw new NotNow(
      `The forkhestra of ${id} (pid ${holder.pid}) cannot be seen from here.`,
      `It may be in a container or on another machine; forkhestra stop ${id} reaches it there.`,
    )
  }
  try {
    process.kill(holder.pid, 'SIGINT')
  } catch (error) {
    throw new NotNow(`The forkhestra of ${id} cannot be stopped: ${errorText(error)}`)
  }
}

function placeOf({ state }: RunBrief): string {
  const step = currentStep(state)
  if (step === undefined) return state.ended === undefined ? 'its end' : 'its queue'
  const { number, agent, iterations, maxIterations } = step
  const of = maxIterations === undefined ? '' : `/${maxIterations}`
  return printable(`iteration ${Math.max(1, iterations)}${of} of step ${number}, ${agent}`)
}

function answer(input: Input, run: RunBrief, asked: string, words: string): number {
  const step = currentStep(run.state)
  const place = { step: step?.number, iteration: step?.iterations }
  if (input.flag('json')) console.log(JSON.stringify({ ok: true, run: run.id, asked, ...place }))
  else console.log(words)
  return 0
}
