/** What people and programs write is far from it; what walks through a value must not run out of stack. */
const DEEPEST = 1000

/** Reads JSON that comes from outside. Throws where it is not JSON, or nested more than 1000 deep. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Each level takes two characters at least.
  if (text.length > 2 * DEEPEST && isTooDeep(value)) {
    throw new SyntaxError(`nested more than ${DEEPEST} levels deep`)
  }
  return value
}

/** Whether a value is nested more deeply than `parseJson` allows. */
export function isTooDeep(value: unknown): boolean {
  let level = [value].filter(isNested)
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === DEEPEST) return true
    level = level.flatMap((each) => Object.values(each).filter(isNested))
  }
  return false
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
