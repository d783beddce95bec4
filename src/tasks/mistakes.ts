import { UserError, type Problem } from '../base/errors.ts'

interface Mistake extends Problem {
  readonly exitCode: number
}

/** What is wrong with one of several tasks. */
export interface Fault {
  /** Which of them. */
  readonly index: number
  readonly error: UserError
}

/** Every mistake of several tasks, each with its place. */
export class Mistakes extends UserError {
  override readonly exitCode: number
  readonly #problems: readonly Problem[]

  constructor(mistakes: readonly Mistake[]) {
    const problems = mistakes.map(({ message, hint }) => ({ message, hint }))
    const [only, ...more] = problems
    if (more.length === 0) super(only!.message, only!.hint)
    else super(problems.map(onOneLine).join('\n'))
    this.exitCode = Math.max(...mistakes.map(({ exitCode }) => exitCode))
    this.#problems = problems
  }

  override get problems(): readonly Problem[] {
    return this.#problems
  }
}

function onOneLine({ message, hint = '' }: Problem): string {
  const words = hint
    .replace(/:\n\s*/, ': ')
    .replaceAll(/\n\s*/g, ', ')
    .replaceAll(/ +/g, ' ')
  return `${message} ${words}`.trimEnd()
}

/** Where a task stands, for whoever has given several. */
export type PlaceOf = (index: number) => string

/** The mistakes in the order of the tasks, each with its place before it. */
export function tellFaults(faults: readonly Fault[], placeOf: PlaceOf): Mistakes {
  const sorted = faults.toSorted((a, b) => a.index - b.index)
  return new Mistakes(
    sorted.map(({ index, error: { message, hint, exitCode } }) => {
      const place = placeOf(index)
      return { message: place === '' ? message : `${place}: ${message}`, hint, exitCode }
    }),
  )
}
