import { parseDuration } from '../../base/durations.ts'
import { openProject, projectLines, type Project } from '../../host/project.ts'
import { TaskDatabase } from '../../tasks/database.ts'
import { brokenLine, describeEndedClaim } from '../../tasks/render.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import type { Claim } from '../../tasks/store/state-shape.ts'
import type { Input, Options } from '../command.ts'

export const TASK_OPTIONS: Options = {
  as: { value: '<name>', help: 'act as this owner' },
  cwd: { value: '<path>', help: 'project folder (default: nearest one, searched upwards)' },
  plain: { help: 'for agents and scripts: one record per line' },
  json: { help: 'one JSON object' },
}

export const CLAIM_OPTIONS: Options = {
  lease: { value: '<time>', help: 'how long a claim outside of a run lasts (default: 2h)' },
}

export function readLease(input: Input): number | undefined {
  const text = input.text('lease')
  return text === undefined ? undefined : parseDuration(text, '--lease')
}

/** Prints which project is used if it is not the current folder. */
function projectOf(input: Input): Project {
  const project = openProject(input.text('cwd'), process.env)
  if (!input.flag('plain') && !input.flag('json')) {
    for (const line of projectLines(project)) console.error(`forge-tasks: ${line}`)
  }
  return project
}

export function projectFolder(input: Input): string {
  return openProject(input.text('cwd'), process.env).folder
}

export function openDatabase(input: Input): TaskDatabase {
  return new TaskDatabase({ project: projectOf(input).folder, as: input.text('as') })
}

/** Ids may also follow `--`. */
export function readIds({ positionals, rest }: Input): readonly string[] {
  return [...positionals, ...rest]
}

/** The values of an option that may be repeated, or take several separated by commas. */
export function readList(input: Input, option: string): readonly string[] {
  return input.texts(option).flatMap((text) => text.split(',').map((word) => word.trim()))
}

/** Broken files cause only warnings. */
export function warnBroken({ broken }: { readonly broken: readonly Broken[] }): void {
  for (const each of broken) console.error(`forge-tasks: ${brokenLine(each)}`)
}

export function endedClaimLine(id: string, claim: Claim): string {
  return `forge-tasks: ${describeEndedClaim(id, claim)}`
}
