import { dropUndefined } from '../base/objects.ts'
import { UserError } from '../base/errors.ts'
import { parseChain as parse } from '../chain/parse/chain-text.ts'
import type {
  ChainConfig,
  ChainsConfig,
  GroupConfig,
  ItemConfig,
  StepConfig,
} from '../chain/parse/chains-schema.ts'

/** A step with the fields of the configuration; `loop`: whether the agent runs until its marker. */
export interface ChainStep extends Readonly<Omit<StepConfig, 'iterations' | 'args'>> {
  readonly iterations: number
  readonly loop: boolean
  readonly args?: readonly string[] | undefined
}

/** A group, or another chain, in place of a step; exactly one of the first four fields is present. */
export interface ChainGroup extends Readonly<
  Omit<GroupConfig, 'sequence' | 'parallel' | 'fallback'>
> {
  readonly sequence?: readonly ChainItem[]
  readonly parallel?: readonly ChainItem[]
  readonly fallback?: readonly ChainItem[]
  readonly chain?: string
}

export type ChainItem = ChainStep | ChainGroup

export interface Chain extends Readonly<Omit<ChainConfig, 'steps'>> {
  readonly steps: readonly ChainItem[]
}

/** A chain after `substituteVars`, which uses longer names for the prompt. */
export interface Substituted extends Readonly<
  Omit<ChainConfig, 'steps' | 'prompt' | 'promptFile'>
> {
  readonly steps: ChainItem[]
  readonly chainPrompt: string | undefined
  readonly chainPromptFile: string | undefined
}

export type Steps = readonly ChainItem[] | Chain | Substituted

type IsAgent = (name: string) => boolean

/** Parses a chain of steps such as `planner:3 -> builder`. `isAgent` decides whether a word like `x:abc` is an agent. */
export function parseDSL(text: string, isAgent: IsAgent = () => false): ChainStep[] {
  return parseChain(text, isAgent).map((item) => {
    if (isStep(item) && item.copies === undefined) return item
    throw new UserError(
      'parseDSL parses only steps that run one after another.',
      'For groups, copies and other chains use parseChain, which returns a tree.',
    )
  })
}

/** Parses a chain with groups, such as `(builder:10 -> reviewer:1):3`. */
export function parseChain(text: string, isAgent: IsAgent = () => false): ChainItem[] {
  return parse(text, isAgent).map(toChainItem)
}

export function toChain(given: Steps): Chain {
  if (isList(given)) return { steps: given }
  const whole: Chain & Partial<Pick<Substituted, 'chainPrompt' | 'chainPromptFile'>> = given
  const { chainPrompt, chainPromptFile, ...rest } = whole
  const { prompt = chainPrompt, promptFile = chainPromptFile } = rest
  return { ...rest, ...dropUndefined({ prompt, promptFile }) }
}

function isList(given: Steps): given is readonly ChainItem[] {
  return Array.isArray(given)
}

function isStep(item: ChainItem): item is ChainStep {
  return 'agent' in item
}

/** Applies a function to all steps, including those in groups. */
export function mapSteps(
  items: readonly ChainItem[],
  change: (step: ChainStep) => ChainStep,
): ChainItem[] {
  return items.map((item) =>
    isStep(item) ? change(item) : mapLists(item, (list) => mapSteps(list, change)),
  )
}

/** All steps, including those in groups. */
export function stepsIn(items: readonly ChainItem[]): ChainStep[] {
  const found: ChainStep[] = []
  mapSteps(items, (step) => {
    found.push(step)
    return step
  })
  return found
}

function mapLists(
  group: ChainGroup,
  change: (items: readonly ChainItem[]) => ChainItem[],
): ChainGroup {
  const lists = LISTS.flatMap((key) => {
    const list = group[key]
    return list === undefined ? [] : [[key, change(list)] as const]
  })
  return { ...group, ...Object.fromEntries(lists) }
}

const LISTS = ['sequence', 'parallel', 'fallback'] as const

export function toChainItem(item: ItemConfig | ChainItem): ChainItem {
  const [converted] = mapSteps([item], (step) => {
    if ('loop' in step) return step
    const { iterations } = step
    return { ...(step as ChainStep), iterations: iterations ?? 1, loop: iterations !== undefined }
  })
  return converted!
}

export function toItemConfig(item: ChainItem): ItemConfig {
  const [converted] = mapSteps([item], (step) => {
    const { iterations, loop, args, ...rest } = step
    // A step as it is written in the configuration does not have `loop`.
    const own = loop || !('loop' in step) ? dropUndefined({ iterations }) : {}
    const config: StepConfig = {
      ...rest,
      ...own,
      ...(args === undefined ? {} : { args: [...args] }),
    }
    return config as ChainStep
  })
  return converted as ItemConfig
}

/** Chains in the form of the configuration. */
export function toChainConfigs(
  chains: ChainsConfig['chains'] | Readonly<Record<string, Chain>>,
): Readonly<Record<string, ChainConfig>> {
  const all = Object.entries(chains as Readonly<Record<string, Chain>>)
  return Object.fromEntries(
    all.map(([name, chain]) => [name, { ...chain, steps: chain.steps.map(toItemConfig) }]),
  )
}
