import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { shellWord } from '../base/shell-quote.ts'
import { own } from '../base/objects.ts'
import { BUILT_IN_AGENTS } from '../chain/builtins/agents.ts'
import type { ChainConfig } from '../chain/parse/chains-schema.ts'

/** Finds a chain by name; the error lists the known ones. `unconfigured`: a project without a configuration. */
export function getChain<
  Chain extends { readonly description?: ChainConfig['description']; readonly steps: unknown },
>(chains: Readonly<Record<string, Chain>>, name: string, unconfigured?: string): Chain {
  const found = own(chains, name)
  if (found !== undefined) return found
  const list = Object.entries(chains).map(([known, { description }]) =>
    description === undefined ? `  ${known}` : `  ${known}: ${description}`,
  )
  const [, base = '', copies] = /^(.+?)(?::\d+)?(?:\*(\d+))?$/.exec(name) ?? []
  const isCounted = own(chains, base) !== undefined
  const isTyped = name.includes('->') || /:\d+$/.test(name) || Object.hasOwn(BUILT_IN_AGENTS, name)
  const near = isCounted ? ` (did you mean '${base}'?)` : didYouMean(name, Object.keys(chains))
  const advice = [
    ...(unconfigured === undefined
      ? []
      : [`${unconfigured} has no configuration (forge/orch/chains.json).`]),
    ...(isCounted && copies !== undefined
      ? [`For copies of its last loop: forkhestra --chain ${base} --copies ${copies}`]
      : []),
    ...(isTyped && !isCounted
      ? [`To run an agent, leave out --chain: forkhestra ${shellWord(name)}`]
      : []),
    'Available chains:',
    ...list,
  ]
  throw new UserError(
    `There is no chain '${name}'${near || '.'}`,
    list.length === 0
      ? 'The configuration defines no chains; add one to forge/orch/chains.json.'
      : advice.join('\n'),
  )
}
