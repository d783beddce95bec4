export interface Problem {
  readonly message: string
  readonly hint?: string | undefined
}

/** A mistake by the user, shown as a message, a hint and an exit code, without a stack trace. */
export class UserError extends Error {
  readonly exitCode: number = 2
  readonly hint: string | undefined

  constructor(message: string, hint?: string) {
    super(message)
    this.name = new.target.name
    this.hint = hint
  }

  /** The single mistakes, if one error reports several. */
  get problems(): readonly Problem[] {
    return [{ message: this.message, hint: this.hint }]
  }
}

/** The request is valid, but the current state does not allow it. */
export class NotNow extends UserError {
  override readonly exitCode = 1
}

/** The operating system's error code, such as `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}

/** The message of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The message, followed by the hint on its own line if there is one. */
export function errorWithHint(error: unknown): string {
  const hint = error instanceof UserError ? error.hint : undefined
  return hint === undefined ? errorText(error) : `${errorText(error)}\n${hint}`
}

/** Turns errors of the operating system into user errors too; any other exception is a bug and is thrown again. */
export function asUserError(error: unknown): UserError {
  if (error instanceof UserError) return error
  if (errorCode(error) === undefined) throw error
  return new UserError(
    errorText(error),
    'Fix the problem (for example, free disk space) and retry.',
  )
}

/** Fails to compile if a member of a union is not handled. */
export function unreachable(value: never): never {
  throw new Error(`not handled: ${JSON.stringify(value)}`)
}

/** Whether work succeeds; why it fails does not matter. */
export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** The result of `work`, or `otherwise` if it throws: for data from elsewhere, which may be invalid or gone. */
export function tryOr<Result, Other>(otherwise: Other, work: () => Result): Result | Other {
  try {
    return work()
  } catch {
    return otherwise
  }
}
