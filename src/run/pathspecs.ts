import { parentOf } from './tree-watch.ts'

/** Git compares each file with each of them: with more, a look at everything is as fast. */
const MOST_PATHSPECS = 40

/**
 * Arguments by which git looks at these paths and as few others as possible; undefined where all files
 * have to be looked at. Paths have a sign for each byte.
 */
export function pathspecs(paths: Iterable<string>): string[] | undefined {
  let places = new Set([...paths].map(nameable))
  if (places.size > MOST_PATHSPECS) places = new Set([...places].map(parentOf))
  if (places.size > MOST_PATHSPECS || places.has('')) return undefined
  return [...places].map((place) => `:(top,literal)${textOf(place)}`)
}

/** Arguments are text: what is none is meant by the folder around it. */
function nameable(path: string): string {
  return path !== '' && textOf(path).includes('\ufffd') ? nameable(parentOf(path)) : path
}

function textOf(path: string): string {
  return Buffer.from(path, 'latin1').toString()
}
