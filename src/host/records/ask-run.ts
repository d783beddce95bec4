import { NotNow, errorText } from '../../base/errors.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { sendRequest } from '../../records/journal/control.ts'
import { findRun, listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { resumeCommand } from '../../views/runs.ts'
import { checkMadeHere, checkOwn, isFamiliar } from './foreign.ts'
import { isChat } from './is-chat.ts'
import type { Places } from './place.ts'

type Status = RunBrief['status']

/** Asks the named run, or the newest active one, to stop after its iteration, or stops it now. */
export function stopRun(places: Places, word: string | undefined, isNow: boolean): RunBrief {
  const run = findRunThat(places, word, ['running', 'waiting'], 'active')
  if (isNow) {
    // Its lock decides which process gets the signal.
    checkMadeHere(run, places)
    interrupt(run)
  } else sendRequest(run.folder, 'stop')
  return run
}

/** Ends the wait of the named run, or of the newest that waits. */
export function retryNow(places: Places, word: string | undefined): RunBrief {
  const run = findRunThat(places, word, ['waiting'], 'waiting')
  sendRequest(run.folder, 'retry-now')
  return run
}

/** The named run, or the newest with a wanted status. */
function findRunThat(
  places: Places,
  word: string | undefined,
  wanted: readonly Status[],
  words: string,
): RunBrief {
  const isWanted = ({ status }: RunBrief) => wanted.includes(status)
  const run = word === undefined ? newestThat(isWanted, places) : findRun(places, word)
  if (run === undefined)
    throw new NotNow(`No ${words} run in this project.`, 'See: forkhestra runs')
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
