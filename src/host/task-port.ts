import { existsSync } from 'node:fs'
import { errorText, tryOr } from '../base/errors.ts'
import type { Environment } from '../base/environment.ts'
import type { ClaimedTask, Tasks } from '../chain/plan/tasks.ts'
import type { Iteration } from '../tasks/claims/owner.ts'
import { findTaskFolders } from '../tasks/folders.ts'
import type { RunTasks } from '../tasks/run-tasks.ts'

/** The tasks of a project for a run. Projects without tasks load nothing. */
export function makeTaskPort(cwd: string, run: string, env: Environment): Tasks {
  // Looked up each time: an agent may create the first task, or a repository around the project.
  const folders = () => findTaskFolders(cwd, env)
  const openTasks = async () => {
    const { TaskDatabase } = await import('../tasks/database.ts')
    return new TaskDatabase({ cwd, env }).forRun()
  }
  /** Iterations whose tasks could not be released yet; no other process releases them while this one lives. */
  const unreleased: { readonly iteration: Iteration; readonly outcome: string }[] = []
  const release = (tasks: RunTasks) => {
    for (const each of unreleased.splice(0)) {
      try {
        tasks.endIteration(each.iteration, each.outcome)
      } catch {
        unreleased.push(each)
      }
    }
  }
  /** The last answer of `claimed`, which is asked once a second. */
  let last: { readonly key: string; readonly claimed: readonly ClaimedTask[] } | undefined
  return {
    folder: () => folders().tasks,
    async claimed(step, number) {
      try {
        const { shared, local } = folders()
        if (!existsSync(shared) && !existsSync(local)) return []
        const tasks = await openTasks()
        const key = `${step} ${number} ${tasks.claimsStamp()}`
        if (last?.key !== key)
          last = { key, claimed: tasks.claimedBy({ id: run, step, iteration: String(number) }) }
        return last.claimed
      } catch {
        return [] // Only shown; `count` reports the problem.
      }
    },
    async endIteration(step, number, outcome) {
      const { shared, local } = folders()
      if (!existsSync(shared) && !existsSync(local)) return []
      const tasks = await openTasks()
      const iteration = { id: run, step, iteration: String(number) }
      const ids = tasks.heldBy(iteration)
      unreleased.push({ iteration, outcome })
      release(tasks)
      return ids
    },
    async fingerprint() {
      if (!existsSync(folders().tasks)) return ''
      const tasks = await openTasks()
      // For a run, a folder that this user cannot read has no tasks.
      return tryOr('', () => tasks.fingerprint())
    },
    async hasClaimed(step, number) {
      const tasks = await openTasks()
      // `count` reports the problem.
      return tryOr(
        false,
        () => tasks.heldBy({ id: run, step, iteration: String(number) }).length > 0,
      )
    },
    async inWork() {
      const tasks = await openTasks()
      // `count` reports the problem.
      return tryOr([], () => tasks.inWork())
    },
    find: async (word) => (await openTasks()).find(word),
    async open() {
      const tasks = await openTasks()
      // `count` reports the problem.
      return tryOr([], () => tasks.open())
    },
    async count(before = { inRun: [], inStep: [] }) {
      const tasks = await openTasks()
      release(tasks)
      try {
        const ended = unreleased.map(({ iteration }) => iteration)
        return tasks.count(before, ended)
      } catch (error) {
        return { ...NOTHING, broken: 1, problem: errorText(error) }
      }
    },
  }
}

const NOTHING = {
  ready: 0,
  blocked: 0,
  blockedTasks: [],
  waiting: 0,
  held: 0,
  stuck: 0,
  broken: 0,
  gone: 0,
  archivedUnfinished: [],
  finished: [],
  deleted: [],
  open: 0,
  total: 0,
}
