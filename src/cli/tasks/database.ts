import { resolveCwd } from '../../setup/configuration.ts'
import { findOwner, type Owner } from '../../tasks/owner.ts'
import { findPlaces, type Places } from '../../tasks/places.ts'
import type { Scan } from '../../tasks/scan.ts'
import type { Input, Options } from '../command.ts'

/** What every command of forge-tasks takes. */
export const TASK_OPTIONS: Options = {
  cwd: { value: '<path>', help: 'the project, if not the current folder' },
  plain: { help: 'for agents and scripts: one record a line' },
  json: { help: 'one JSON object' },
}

export const AS_OPTION: Options = { as: { value: '<name>', help: 'on whose behalf' } }

export interface Database {
  readonly places: Places
  readonly owner: Owner
  readonly now: Date
}

export function openDatabase(input: Input): Database {
  const places = findPlaces(resolveCwd(input.text('cwd')))
  return { places, owner: findOwner(process.env, input.text('as')), now: new Date() }
}

/** Broken files are named, and everything else works. */
export function warnBroken({ broken }: Scan): void {
  for (const { file, line, problem } of broken) {
    console.error(`forge-tasks: ${file}:${line}: ${problem}`)
  }
}
