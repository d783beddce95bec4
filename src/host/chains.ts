import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { shellWord } from '../base/shell-quote.ts'
import { own } from '../base/objects.ts'
import { BUILT_IN_AGENTS } from '../chain/builtins/agents.ts'
import type { ChainConfig } from '../chain/parse/chains-schema.ts'

/** Finds a chain by name; the error lists the known ones. */
export function getChain<
  Chain extends { readonly description?: ChainConfig['description']; readonly steps: unknown },
>(chains: Readonly<Record<string, Chain>>, name: string): Chain {
  const found = own(chains, name)
  if (found !== undefined) return found
  const list = Object.entries(chains).map(([known, { description }]) =>
    description === undefined ? `  ${known}` : `  ${known}: ${description}`,
  )
  const isTyped = name.includes('->') || /:\d+$/.test(name) || Object.hasOwn(BUILT_IN_AGENTS, name)
  const steps = isTyped ? `To run an agent, leave out --chain: forkhestra ${shellWord(name)}\n` : ''
  throw new UserError(
    `There is no chain '${name}'${didYouMean(name, Object.keys(chains)) || '.'}`,
    list.length === 0
      ? 'The configuration defines no chains; add one to forge/orch/chains.json.'
      : `${steps}Available chains:\n${list.join('\n')}`,
  )
}
