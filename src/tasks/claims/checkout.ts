import { statOf } from '../../base/files.ts'
import { placesAt, type Places } from '../store/places.ts'

/** The database in which a claim was made, seen from another one of the clone; undefined where it is gone. */
export function checkoutOf(root: string, here: Places): Places | undefined {
  if (root === here.root) return here
  const there = placesAt(root)
  // Another repository may be there by now, or only a project around it.
  if (there.shared !== here.shared) return undefined
  return statOf(there.tasks)?.isDirectory() === true ? there : undefined
}
