import { UserError, type Problem } from '../../base/errors.ts'

/** Collects all reasons why a run cannot start. */
export class PlanError extends UserError {
  readonly #problems: readonly Problem[]
  /** Warnings that may explain the problems. */
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

/** Runs part of planning; a user's mistake is added to `problems` instead of thrown. */
export function collect<T>(problems: Problem[], part: () => T): T | undefined {
  try {
    return part()
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    problems.push(...error.problems)
    return undefined
  }
}
