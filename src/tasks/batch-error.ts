import { UserError, type Problem } from '../base/errors.ts'

export interface TaskMistake {
  /** The position of the task in the batch. */
  readonly index: number
  readonly error: UserError
}

/** Names the position of a task in the input, for example `stdin:3`. */
export type DescribePosition = (index: number) => string

/** All mistakes in a batch of tasks, sorted by task. */
export class BatchError extends UserError {
  override readonly exitCode: number
  readonly #problems: readonly Problem[]

  constructor(mistakes: readonly TaskMistake[], describePosition: DescribePosition) {
    const sorted = mistakes.toSorted((a, b) => a.index - b.index)
    const problems = sorted.map(({ index, error: { message, hint } }) => {
      const position = describePosition(index)
      return { message: position === '' ? message : `${position}: ${message}`, hint }
    })
    const [only, ...more] = problems
    if (more.length === 0) super(only!.message, only!.hint)
    else super(problems.map(onOneLine).join('\n'))
    this.exitCode = Math.max(...sorted.map(({ error }) => error.exitCode))
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
