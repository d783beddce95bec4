import { UserError } from '../base/errors.ts'

/** A valid request that cannot be carried out. */
export class Refused extends UserError {
  override readonly exitCode: number = 1
}
