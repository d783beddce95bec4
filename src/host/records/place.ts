import { UserError } from '../../base/errors.ts'
import { recordPlaces, type RecordPlaces } from '../../records/journal/record-folder.ts'
import type { FrontEnd } from '../front-end.ts'

export type ProjectRecords = RecordPlaces<readonly [string, ...string[]]>

export function recordsOf({ project, env }: Pick<FrontEnd, 'project' | 'env'>): ProjectRecords {
  const { roots, ...rest } = recordPlaces(project, env)
  const [first, ...others] = roots
  if (first !== undefined) return { roots: [first, ...others], ...rest }
  throw new UserError(
    'No place for run records: HOME is not an absolute path.',
    'Create the folder forge/ in the project, or set HOME.',
  )
}
