import { loadConfiguration, type Configuration } from '../setup/configuration.ts'
import { openProject, pathFromProject, projectLines, type Project } from '../setup/project.ts'
import type { Input } from './command.ts'

let isTold = false

/** The project that a verb works on; a line says which one where it is not the current folder. */
export function projectOf(input: Input): Project {
  const project = openProject(input.text('cwd'), process.env)
  if (!isTold && !input.flag('json')) {
    for (const line of projectLines(project)) console.error(`[forkhestra] ${line}`)
  }
  isTold = true
  return project
}

/** Its configuration, or the one that was named. */
export function configurationFor(input: Input, project: Project): Promise<Configuration> {
  const given = input.text('config')
  const path = given === undefined ? undefined : pathFromProject(given, project)
  return loadConfiguration(project.folder, path, process.env)
}

/** The project of the current folder, to know whether a command needs a `--cwd`. */
export function currentProject(): string {
  return openProject(undefined, process.env).folder
}
