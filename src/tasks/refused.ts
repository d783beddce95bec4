import { UserError } from '../base/errors.ts'

/** Understood, but not allowed or not there: exit code 1. */
export class Refused extends UserError {
  override readonly exitCode: number = 1
}
