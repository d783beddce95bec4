/** Far more than real files have; keeps recursive code from overflowing the stack. */
const DEEPEST = 1000

/** Parses JSON from outside. Throws if it is not JSON, or nested more than 1000 levels deep. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // Each level takes at least two characters.
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

/** Whether a value is an object with keys: not null, not a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return isNested(value) && !Array.isArray(value)
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
