export interface Problem {
  readonly message: string
  readonly hint?: string | undefined
}

/** A mistake of the user's: one clear message, what to do next, and the exit code; never a stack. */
export class UserError extends Error {
  readonly exitCode: number = 2
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = new.target.name
    this.hint = hint
  }

  /** Each mistake by itself, where one error tells of several. */
  get problems(): readonly Problem[] {
    return [{ message: this.message, hint: this.hint }]
  }
}

/** What was asked for is right, and something else must be so first. */
export class NotNow extends UserError {
  override readonly exitCode = 1
}

/** The operating system's short word for what went wrong (`ENOENT`), or undefined. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** One line of text about anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The same with what to do next, where that is known: lines for whoever is told of it later. */
export function errorWithHint(error: unknown): string {
  const hint = error instanceof UserError ? error.hint : undefined
  return hint === undefined ? errorText(error) : `${errorText(error)}\n${hint}`
}

/** What whoever goes on after it is told of: trouble of the system too, and nothing else. */
export function asTrouble(error: unknown): UserError {
  if (error instanceof UserError) return error
  if (errorCode(error) === undefined) throw error
  return new UserError(errorText(error), 'Mend that, e.g. free some space, and try it again.')
}

/** Proves to the compiler, and at run time, that every member of a union was handled. */
export function unreachable(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`)
}
