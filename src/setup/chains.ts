import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { shellWord } from '../base/shell-quote.ts'
import { BUILT_IN_AGENTS } from '../builtins/agents.ts'
import type { ChainConfig } from '../parse/chains-schema.ts'

/** The chain of that name; where there is none, the message lists what there is. */
export function getChain(chains: Readonly<Record<string, ChainConfig>>, name: string): ChainConfig {
  const found = Object.hasOwn(chains, name) ? chains[name] : undefined
  if (found !== undefined) return found
  const list = Object.entries(chains).map(([known, { description }]) =>
    description === undefined ? `  ${known}` : `  ${known}: ${description}`,
  )
  const isTyped = name.includes('->') || /:\d+$/.test(name) || Object.hasOwn(BUILT_IN_AGENTS, name)
  const steps = isTyped ? `Agents are run without --chain: forkhestra ${shellWord(name)}\n` : ''
  throw new UserError(
    `There is no chain '${name}'${didYouMean(name, Object.keys(chains)) || '.'}`,
    list.length === 0
      ? 'The configuration defines no chains: write some into forge/orch/chains.json.'
      : `${steps}Available chains:\n${list.join('\n')}`,
  )
}
