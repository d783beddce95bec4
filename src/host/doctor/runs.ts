import { listed } from '../../base/shorten.ts'
import { errorText } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { Leftover } from '../../records/events/schema.ts'
import type { RecordPlaces } from '../../records/journal/record-folder.ts'
import { isNestedRun, listOwnRuns, unreadableNewerThan } from '../../records/journal/runs.ts'
import { resumeCommand } from '../../views/runs.ts'
import { RunProcesses } from '../../run/process/run-processes.ts'
import { withQueueState } from '../records/with-queue.ts'
import type { QueuedBrief } from '../records/describe-run.ts'
import { ok, problem, warning, type Check } from './check.ts'

/** How many processes are listed. */
const NAMED = 3

/** Unfinished runs of this project: active or dead. */
export function checkRuns(cwd: string, places: RecordPlaces): Check {
  try {
    const runs = listOwnRuns(places).map(withQueueState)
    const [unreadable] = unreadableNewerThan(places, runs[0]?.id)
    if (unreadable !== undefined) {
      const text = `the record of the last run ${unreadable} cannot be read`
      return warning('runs', text, 'resume, show and status use the run before it')
    }
    const here = runs.filter(({ state }) => state.cwd === undefined || state.cwd === cwd)
    return describeRuns(
      here,
      here.filter((run) => !isNestedRun(run, places)),
    )
  } catch (error) {
    return warning(
      'runs',
      `cannot be read: ${printable(errorText(error))}`,
      `See ${places.roots.join(' and ')}`,
    )
  }
}

function describeRuns(runs: readonly QueuedBrief[], outer: readonly QueuedBrief[]): Check {
  for (const { id, isChat } of runs.filter(({ status }) => status === 'dead')) {
    const processes = RunProcesses.ofDeadRun(id).list()
    if (processes.length === 0) continue
    const text = `run ${id} is dead and left these processes running: ${namesOf(processes)}`
    return problem('runs', text, `Resume it: ${resumeCommand(id, isChat)} --kill-orphans`)
  }
  const [newest] = outer
  // Until this is fixed, nothing can be queued.
  if (newest?.unreadable !== undefined) {
    const text = `the queue of the last run ${newest.id} cannot be used`
    return problem('runs', text, printable(newest.unreadable))
  }
  const driven = outer.find(({ holder }) => holder !== undefined)
  if (driven !== undefined) {
    const pid = driven.holder?.pid
    const who = pid ? ` (pid ${pid})` : ''
    const text = `${driven.id} is active here${who}; a second run would interfere with it`
    return warning('runs', text, `Wait for it, or: forkhestra stop ${driven.id}`)
  }
  if (newest === undefined) return ok('runs', 'none yet')
  if (newest.status !== 'dead') return ok('runs', `last run ${newest.id}: ${newest.status}`)
  const text = `the last run ${newest.id} was killed`
  return warning('runs', text, `Resume it: ${resumeCommand(newest.id, newest.isChat)}`)
}

function namesOf(processes: readonly Leftover[]): string {
  const names = processes.map(({ pid, command }) => `${printable(command)} (pid ${pid})`)
  return listed(names, NAMED)
}
