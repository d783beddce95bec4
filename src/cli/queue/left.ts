import type { TaskHead } from '../../queue/task.ts'
import { hasOrphans } from '../orphans.ts'
import { isDriven, type Caller } from './caller.ts'

/** Whether nobody drives the run, so that what counts as running is only what was left. */
export function isLeft(caller: Caller): boolean {
  return !caller.isInside && !isDriven(caller)
}

/** Of tasks whose forkhestra was killed: what to do. */
export function goOnWords({ run, options }: Caller, count = 1): string {
  const orphans = hasOrphans(run) ? ' --kill-orphans' : ''
  const whose = count === 1 ? 'its' : 'their'
  return `${whose} forkhestra is gone; to go on: forkhestra run-queue${options}${orphans}`
}

/** A line about what was started and is not worked at, where that is so. */
export function leftLine(caller: Caller, tasks: readonly TaskHead[]): string | undefined {
  const namesOf = (state: TaskHead['state']) =>
    tasks.filter((task) => task.state === state).map(({ name }) => name)
  const [running, ready] = [namesOf('running'), namesOf('ready')]
  if (running.length > 0) return `${running.join(', ')}: ${goOnWords(caller, running.length)}`
  if (ready.length === 0) return undefined
  return `${ready.join(', ')}: nobody is at work; to go on: forkhestra run-queue${caller.options}`
}
