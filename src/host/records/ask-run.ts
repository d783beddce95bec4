import { NotNow, errorText } from '../../base/errors.ts'
import { lifeOf } from '../../base/linux/process-identity.ts'
import { sendRequest } from '../../records/journal/control.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { findRun, isNestedRun, listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { resumeCommand } from '../../views/runs.ts'
import { checkMadeHere, checkOwn, isOwnOrUnsigned } from './foreign.ts'
import { isChat } from './plan-in.ts'
import type { ProjectRecords } from './place.ts'

/** Asks the named run, or the newest active one, to stop after its iteration, or stops it now. */
export function stopRun(
  places: ProjectRecords,
  word: string | undefined,
  isNow: boolean,
): RunBrief {
  const run = findRunThat(places, word, isActive, 'active')
  if (isNow) {
    // The lock decides which process gets the signal.
    checkMadeHere(run, places)
    interrupt(run)
  } else sendRequest(run.folder, 'stop')
  return run
}

/** Ends the wait of the named run, or of the newest waiting one. */
export function retryNow(places: ProjectRecords, word: string | undefined): RunBrief {
  // While other branches work, the run as a whole does not wait.
  const hasWait = (each: RunBrief) => isActive(each) && waitsOf(each.state).length > 0
  const run = findRunThat(places, word, hasWait, 'waiting')
  sendRequest(run.folder, 'retry-now')
  return run
}

function isActive({ status }: RunBrief): boolean {
  return status === 'running' || status === 'waiting'
}

/** The named run, or the newest that qualifies. */
function findRunThat(
  places: ProjectRecords,
  word: string | undefined,
  isWanted: (run: RunBrief) => boolean,
  words: string,
): RunBrief {
  const run = word === undefined ? newestThat(isWanted, places) : findRun(places, word)
  if (run === undefined)
    throw new NotNow(`No ${words} run in this project.`, 'See: forkhestra runs')
  if (!isOwnOrUnsigned(run)) checkOwn(run, places)
  if (isWanted(run)) return run
  const hint =
    run.status === 'dead' ? `Resume it: ${resumeCommand(run.id, isChat(run.folder))}` : undefined
  throw new NotNow(`Run ${run.id} is not ${words}, it is ${run.status}.`, hint)
}

/** Runs made here come first, outer ones before nested ones; an unsigned one of 0.1.0 may still be active. */
function newestThat(
  isWanted: (run: RunBrief) => boolean,
  places: ProjectRecords,
): RunBrief | undefined {
  const runs = listRuns(places).filter((run) => isWanted(run) && isOwnOrUnsigned(run))
  const own = runs.filter(({ foreign }) => foreign === undefined)
  return own.find((run) => !isNestedRun(run, places)) ?? own[0] ?? runs[0]
}

/** The pid may belong to another process by now, so its identity is also checked. */
function interrupt({ id, folder, holder }: RunBrief): void {
  if (holder?.pid === 0) {
    throw new NotNow(
      `The lock of ${id} was deleted, so its process is unknown.`,
      `The run recreates it within seconds. Then: forkhestra stop ${id} --now`,
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
