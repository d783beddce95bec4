interface Named {
  readonly name?: string | undefined
}

/** The number of the step with a name or a number; undefined if there is none. */
export function findStep(target: string | number, steps: readonly Named[]): number | undefined {
  const isNumber = typeof target === 'number' || /^\d+$/.test(target)
  const number = isNumber ? Number(target) : steps.findIndex(({ name }) => name === target) + 1
  return number >= 1 && number <= steps.length ? number : undefined
}

/** The valid targets for a message: `"plan", "fix" or a number from 1 to 3`. */
export function describeTargets(steps: readonly Named[]): string {
  const names = steps.flatMap(({ name }) => (name === undefined ? [] : [JSON.stringify(name)]))
  const numbers = steps.length === 1 ? '1' : `a number from 1 to ${steps.length}`
  return names.length === 0 ? numbers : `${names.join(', ')} or ${numbers}`
}
