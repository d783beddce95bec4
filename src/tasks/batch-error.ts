import { UserError, type Problem } from '../base/errors.ts'

interface Mistake extends Problem {
  readonly exitCode: number
}

export interface TaskMistake {
  /** The position of the task in the batch. */
  readonly index: number
  readonly error: UserError
}

/** All mistakes in a batch of tasks. */
export class BatchError extends UserError {
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

/** Names the position of a task in the input, for example `stdin:3`. */
export type DescribePosition = (index: number) => string

/** Sorts the mistakes by task and prefixes each with its position. */
export function makeBatchError(
  faults: readonly TaskMistake[],
  placeOf: DescribePosition,
): BatchError {
  const sorted = faults.toSorted((a, b) => a.index - b.index)
  return new BatchError(
    sorted.map(({ index, error: { message, hint, exitCode } }) => {
      const place = placeOf(index)
      return { message: place === '' ? message : `${place}: ${message}`, hint, exitCode }
    }),
  )
}
