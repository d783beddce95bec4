import { UserError, type Problem } from '../base/errors.ts'

/** Every reason why a run cannot start, at once. */
export class PlanError extends UserError {
  readonly #problems: readonly Problem[]
  /** What a person should know besides, because it may be the cause. */
  readonly warnings: readonly string[]

  constructor(all: readonly Problem[], warnings: readonly string[] = []) {
    const problems = all.filter((problem, index) => {
      return all.findIndex(({ message }) => message === problem.message) === index
    })
    const [only] = problems
    if (problems.length === 1 && only !== undefined) super(only.message, only.hint)
    else super(problems.map(renderProblem).join('\n'))
    this.#problems = problems
    this.warnings = warnings
  }

  override get problems(): readonly Problem[] {
    return this.#problems
  }
}

function renderProblem({ message, hint }: Problem): string {
  return hint === undefined ? message : `${message}\n    ${hint.replaceAll('\n', '\n    ')}`
}

/** Runs a part of the planning and keeps a user's mistake instead of stopping at it. */
export function collect<T>(problems: Problem[], part: () => T): T | undefined {
  try {
    return part()
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    problems.push({ message: error.message, hint: error.hint })
    return undefined
  }
}
