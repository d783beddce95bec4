import { parseDuration } from '../../base/durations.ts'
import { openProject, projectLines, type Project } from '../../setup/project.ts'
import { keepLeases } from '../../tasks/claims/leases.ts'
import { findOwner, type Owner } from '../../tasks/claims/owner.ts'
import { placesIn, type Places } from '../../tasks/store/places.ts'
import { brokenLine } from '../../tasks/render.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import type { Input, Options } from '../command.ts'

/** What every command of forge-tasks takes. */
export const TASK_OPTIONS: Options = {
  as: { value: '<name>', help: 'on whose behalf' },
  cwd: { value: '<path>', help: 'the project folder, taken literally' },
  plain: { help: 'for agents and scripts: one record a line' },
  json: { help: 'one JSON object' },
}

export const CLAIM_OPTIONS: Options = {
  lease: { value: '<time>', help: 'how long a claim outside of a run holds (2h)' },
}

export function readLease(input: Input): number | undefined {
  const text = input.text('lease')
  return text === undefined ? undefined : parseDuration(text, '--lease')
}

export interface Database {
  readonly places: Places
  readonly owner: Owner
  readonly now: Date
}

/** The project of a call; a line for people says which one where it is not the current folder. */
function projectOf(input: Input): Project {
  const project = openProject(input.text('cwd'), process.env)
  if (!input.flag('plain') && !input.flag('json')) {
    for (const line of projectLines(project)) console.error(`forge-tasks: ${line}`)
  }
  return project
}

export function placesOf(input: Input): Places {
  return placesIn(openProject(input.text('cwd'), process.env).folder)
}

export function openDatabase(input: Input): Database {
  const places = placesIn(projectOf(input).folder)
  const [owner, now] = [findOwner(process.env, input.text('as')), new Date()]
  keepLeases(places, owner, now)
  return { places, owner, now }
}

/** Behind `--` stand ids as well as before it. */
export function readIds({ positionals, rest }: Input): readonly string[] {
  return [...positionals, ...rest]
}

/** Broken files are named, and everything else works. */
export function warnBroken({ broken }: { readonly broken: readonly Broken[] }): void {
  for (const each of broken) console.error(`forge-tasks: ${brokenLine(each)}`)
}
