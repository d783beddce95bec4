import { NotNow, errorText } from '../../base/errors.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { printable } from '../../base/terminal/printable.ts'
import { sendRequest } from '../../records/journal/control.ts'
import { findRun, listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { currentStep, resumeCommand } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { isChat } from '../../host/records/is-chat.ts'
import { checkMadeHere, checkOwn, isFamiliar } from '../../host/records/foreign.ts'
import { recordsFor, runWord } from './choose-run.ts'
import type { Places } from '../../host/records/place.ts'

type Status = RunBrief['status']

/** The command `stop`. */
export async function stopRun(input: Input): Promise<number> {
  const run = chooseOneThat(input, ['running', 'waiting'], 'under way')
  if (input.flag('now')) {
    // Its lock decides which process gets the signal.
    checkMadeHere(run, recordsFor(input))
    interrupt(run)
    return answer(input, run, 'stop-now', `Run ${run.id} is being stopped at ${placeOf(run)}.`)
  }
  sendRequest(run.folder, 'stop')
  if (run.state.ended !== undefined) {
    return answer(input, run, 'stop', `Run ${run.id} starts no more tasks; running tasks finish.`)
  }
  const when = run.status === 'waiting' ? 'stops waiting and ends, at' : 'stops at the end of'
  return answer(input, run, 'stop', `Run ${run.id} ${when} ${placeOf(run)}.`)
}

/** The command `retry-now`. */
export async function retryNow(input: Input): Promise<number> {
  const run = chooseOneThat(input, ['waiting'], 'waiting')
  sendRequest(run.folder, 'retry-now')
  return answer(input, run, 'retry-now', `Run ${run.id}: wait cancelled, retrying ${placeOf(run)}.`)
}

/** The named run, or the newest with a wanted status. */
function chooseOneThat(input: Input, wanted: readonly Status[], words: string): RunBrief {
  const places = recordsFor(input)
  const word = runWord(input)
  const isWanted = ({ status }: RunBrief) => wanted.includes(status)
  const run = word === undefined ? newestThat(isWanted, places) : findRun(places, word)
  if (run === undefined)
    throw new NotNow(`No run is ${words} in ${places.roots[0]}`, 'See: forkhestra runs')
  if (!isFamiliar(run)) checkOwn(run, places)
  if (isWanted(run)) return run
  const hint =
    run.status === 'dead' ? `Resume it: ${resumeCommand(run.id, isChat(run.folder))}` : undefined
  throw new NotNow(`Run ${run.id} is not ${words}, it is ${run.status}.`, hint)
}

/** Runs made here come first; an unsigned one of 0.1.0 may still be active. */
function newestThat(isWanted: (run: RunBrief) => boolean, places: Places): RunBrief | undefined {
  const runs = listRuns(places).filter((run) => isWanted(run) && isFamiliar(run))
  return runs.find(({ foreign }) => foreign === undefined) ?? runs[0]
}

/** The pid may belong to another process by now, so the identity is checked too. */
function interrupt({ id, folder, holder }: RunBrief): void {
  if (holder?.pid === 0) {
    throw new NotNow(
      `The lock of ${id} was deleted, so its process is not known.`,
      `It is written again within seconds: forkhestra stop ${id} --now`,
    )
  }
  const life = holder === undefined ? 'dead' : lifeOf(holder.identity)
  if (holder === undefined || life === 'dead') {
    const resume = resumeCommand(id, isChat(folder))
    throw new NotNow(`The process of run ${id} is dead.`, `Resume it: ${resume}`)
  }
  if (life === 'unknown') {
    throw new NotNow(
      `The process of run ${id} (pid ${holder.pid}) is not visible here.`,
      `It may be in a container or on another machine; forkhestra stop ${id} reaches it there.`,
    )
  }
  try {
    process.kill(holder.pid, 'SIGINT')
  } catch (error) {
    throw new NotNow(`The process of run ${id} cannot be stopped: ${errorText(error)}`)
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
