interface Named {
  readonly name?: string | undefined
}

/** The number of the step that a name or a number means; undefined where there is none. */
export function findStep(target: string | number, steps: readonly Named[]): number | undefined {
  const isNumber = typeof target === 'number' || /^\d+$/.test(target)
  const number = isNumber ? Number(target) : steps.findIndex(({ name }) => name === target) + 1
  return number >= 1 && number <= steps.length ? number : undefined
}

/** What a step of a chain can be called: `"plan", "fix" or a number from 1 to 3`. */
export function targetWords(steps: readonly Named[]): string {
  const names = steps.flatMap(({ name }) => (name === undefined ? [] : [JSON.stringify(name)]))
  const numbers = steps.length === 1 ? '1' : `a number from 1 to ${steps.length}`
  return names.length === 0 ? numbers : `${names.join(', ')} or ${numbers}`
}
