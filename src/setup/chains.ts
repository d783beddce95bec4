import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import type { ChainConfig } from '../parse/chains-schema.ts'

/** The chain of that name; where there is none, the message lists what there is. */
export function getChain(chains: Readonly<Record<string, ChainConfig>>, name: string): ChainConfig {
  const found = Object.hasOwn(chains, name) ? chains[name] : undefined
  if (found !== undefined) return found
  const list = Object.entries(chains).map(([known, { description }]) =>
    description === undefined ? `  ${known}` : `  ${known}: ${description}`,
  )
  throw new UserError(
    `There is no chain '${name}'${didYouMean(name, Object.keys(chains)) || '.'}`,
    list.length === 0
      ? 'The configuration defines no chains: write some into forge/orch/chains.json.'
      : `Available chains:\n${list.join('\n')}`,
  )
}
