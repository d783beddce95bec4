import type { TaskHead } from '../../queue/task.ts'
import { hasOrphans } from '../../host/orphans.ts'
import { isDriven, type Caller } from '../../host/queue/caller.ts'

/** Whether no process drives the run, so that tasks marked as running are left over. */
export function isAbandoned(caller: Caller): boolean {
  return !caller.isInside && !isDriven(caller)
}

/** What to do about tasks whose forkhestra process was killed. */
export function describeResume({ run, options }: Caller, count = 1): string {
  const orphans = hasOrphans(run) ? ' --kill-orphans' : ''
  const whose = count === 1 ? 'its' : 'their'
  return `${whose} forkhestra process is gone; resume with: forkhestra run-queue${options}${orphans}`
}

/** A line about started tasks that no process runs, if there are any. */
export function describeAbandoned(caller: Caller, tasks: readonly TaskHead[]): string | undefined {
  const namesOf = (state: TaskHead['state']) =>
    tasks.filter((task) => task.state === state).map(({ name }) => name)
  const [running, ready] = [namesOf('running'), namesOf('ready')]
  if (running.length > 0) return `${running.join(', ')}: ${describeResume(caller, running.length)}`
  if (ready.length === 0) return undefined
  return `${ready.join(', ')}: no process runs this queue; resume with: forkhestra run-queue${caller.options}`
}
