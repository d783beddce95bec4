import { relative } from 'node:path'
import { runGit } from '../store/git.ts'
import type { Places } from '../store/places.ts'
import type { Placed } from './placed.ts'

/**
 * Whether a reference to an id that two tasks have means the younger one: when it was committed
 * first, that one was there and the older one was not. What git does not know means the older one.
 */
export function isMeant(
  reference: Placed,
  younger: Placed,
  older: Placed,
  places: Places,
): boolean {
  const { root } = places
  const name = (path: string) => relative(root, path)
  const search = ['log', '--format=%H', `-S${younger.task.id}`, '--', name(reference.path)]
  const commit = runGit(root, search)?.trim().split('\n').at(-1)
  if (commit === undefined || commit === '') return false
  const isIn = ({ path }: Placed) =>
    runGit(root, ['cat-file', '-e', `${commit}:./${name(path)}`]) !== undefined
  return isIn(younger) && !isIn(older)
}
