import { existsSync } from 'node:fs'
import type { Tasks } from '../chain/plan/tasks.ts'
import { findTaskFolders } from '../tasks/folders.ts'
import type { RunTasks } from './run-tasks.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The tasks of a project for a run. Projects without tasks load nothing. */
export function makeTaskPort(cwd: string, run: string, env: Environment): Tasks {
  // Looked up each time: an agent may create the first task, or a repository around the project.
  const folders = () => findTaskFolders(cwd, env)
  let loading: Promise<RunTasks> | undefined
  const load = () =>
    (loading ??= import('./run-tasks.ts').then((loaded) => new loaded.RunTasks(run, folders)))
  return {
    folder: () => folders().tasks,
    async endIteration(...ended) {
      const { shared, local } = folders()
      if (!existsSync(shared) && !existsSync(local)) return []
      return (await load()).endIteration(...ended)
    },
    async fingerprint() {
      return existsSync(folders().tasks) ? (await load()).fingerprint() : ''
    },
    find: async (word) => (await load()).find(word),
    open: async () => (await load()).open(),
    count: async (before) => (await load()).count(before),
  }
}
