import { UserError } from '../base/errors.ts'
import { makeChainSchema } from './chains-schema.ts'

/** Refuses a chain that a program has put together and that no configuration could hold. */
export function checkChain(chain: unknown): void {
  const [issue] = makeChainSchema().safeParse(chain, { jitless: true }).error?.issues ?? []
  if (issue === undefined) return
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  throw new UserError(`chain${path.join('')}: expected ${issue.message}.`)
}
