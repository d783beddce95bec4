import { UserError } from '../../base/errors.ts'
import type { ChainConfig, ItemConfig, StepConfig } from './chains-schema.ts'

type Chains = Readonly<Record<string, ChainConfig>>
type List = readonly ItemConfig[]

/** The kind of a group and its items; undefined for a step or another chain. */
export function groupOf(
  item: ItemConfig,
): { readonly kind: 'sequence' | 'parallel' | 'fallback'; readonly items: List } | undefined {
  if ('agent' in item || 'chain' in item) return undefined
  const { sequence, parallel, fallback } = item
  if (sequence !== undefined) return { kind: 'sequence', items: sequence }
  return parallel === undefined
    ? { kind: 'fallback', items: fallback ?? [] }
    : { kind: 'parallel', items: parallel }
}

/** The sign that joins the items of a typed group. */
export const SIGNS = { sequence: ' -> ', parallel: ' & ', fallback: ' || ' }

/** The items of a list as they are typed: `plan:3 -> (build:10 -> review:1):3`. */
export function describeItems(items: List, sign = SIGNS.sequence): string {
  return items.map(describeItem).join(sign)
}

function describeItem(item: ItemConfig): string {
  const { iterations, copies } = item
  const counts = `${iterations === undefined ? '' : `:${iterations}`}${copies === undefined ? '' : `*${copies}`}`
  if ('agent' in item) return `${item.agent}${counts}`
  if ('chain' in item) return `@${item.chain}${counts}`
  const { kind, items } = groupOf(item)!
  return `(${describeItems(items, SIGNS[kind])})${counts}`
}

/** The steps of a list in the order of their numbers; references to other chains have none. */
export function agentSteps(items: List): StepConfig[] {
  return items.flatMap((item) =>
    'agent' in item ? [item] : agentSteps(groupOf(item)?.items ?? []),
  )
}

/** A list and all lists of the groups in it. */
export function allLists(items: List): List[] {
  return [items, ...items.flatMap((item) => allLists(groupOf(item)?.items ?? []))].filter(
    (list) => list.length > 0,
  )
}

export function renameAgents(items: List, rename: (name: string) => string): ItemConfig[] {
  return mapSteps(items, (step) => ({ ...step, agent: rename(step.agent) }))
}

/**
 * A chain with this many copies of its last looping step; undefined if no step loops. A step with one
 * iteration, such as a reviewer after a builder, counts only if no other step loops.
 */
export function withCopies(chain: ChainConfig, copies: number): ChainConfig | undefined {
  const loops = agentSteps(chain.steps).filter(({ iterations }) => iterations !== undefined)
  const target = loops.findLast(({ iterations }) => iterations !== 1) ?? loops.at(-1)
  if (target === undefined) return undefined
  const steps = mapSteps(chain.steps, (step) => (step === target ? { ...step, copies } : step))
  return { ...chain, steps }
}

function mapSteps(items: List, change: (step: StepConfig) => StepConfig): ItemConfig[] {
  return items.map((item) => {
    if ('agent' in item) return change(item)
    const group = groupOf(item)
    return group === undefined ? item : { ...item, [group.kind]: mapSteps(group.items, change) }
  })
}

/** Replaces references to other chains with their steps, and passes fields of groups on to their items. */
export function expandChain(chain: ChainConfig, chains: Chains, name?: string): ChainConfig {
  const path = name === undefined ? [] : [name]
  return { ...chain, steps: expandItems(chain.steps, {}, chains, path) }
}

/** Fields that items inherit from their group; `env` is merged. */
const INHERITED = [
  'verify',
  'until',
  'timeout',
  'idleTimeout',
  'retry',
  'maxWait',
  'stall',
  'grace',
  'rawPrompt',
  'readLimit',
  'readRoots',
] as const

type Inherited = Pick<ItemConfig, (typeof INHERITED)[number] | 'env'>

function expandItems(
  items: List,
  outer: Inherited,
  chains: Chains,
  path: readonly string[],
): ItemConfig[] {
  return items.map((item) => {
    const own = { ...outer, ...item, ...mergeEnv(outer, item) }
    if ('agent' in own) return own
    if ('chain' in own) return expandReference(own, chains, path)
    const { kind, items: list } = groupOf(own)!
    return { ...own, [kind]: expandItems(list, inheritedFrom(own), chains, path) }
  })
}

function inheritedFrom(item: Inherited): Inherited {
  const fields = [...INHERITED, 'env' as const].map((key) => [key, item[key]] as const)
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined))
}

function mergeEnv(outer: Inherited, { env }: Inherited): Pick<Inherited, 'env'> {
  return outer.env === undefined ? {} : { env: { ...outer.env, ...env } }
}

/** Another chain as a group; the fields of the reference override those of the chain. */
function expandReference(
  { chain: name, ...own }: Extract<ItemConfig, { readonly chain: string }>,
  chains: Chains,
  path: readonly string[],
): ItemConfig {
  const found = Object.hasOwn(chains, name) ? chains[name] : undefined
  if (found === undefined) {
    throw new UserError(
      `There is no chain '${name}' to run as part of ${describePath(path)}.`,
      `Available chains: ${Object.keys(chains).join(', ')}`,
    )
  }
  if (path.includes(name)) {
    throw new UserError(
      `Chain '${name}' runs itself: ${[...path, name].join(' -> ')}.`,
      'Remove one of these references.',
    )
  }
  const {
    description: _,
    maxParallel: __,
    prompt,
    promptFile,
    onFail,
    hooks,
    steps,
    ...policy
  } = found
  const { afterRun: ___, ...stepHooks } = hooks ?? {}
  const group = {
    name,
    ...policy,
    ...(hooks === undefined ? {} : { hooks: stepHooks }),
    ...own,
    ...mergeEnv(policy, own),
  }
  const given = steps.map((item): ItemConfig => {
    const then = onFail === undefined ? item : { onFail, ...item }
    return 'agent' in then ? withPrompt(then, { prompt, promptFile }) : then
  })
  return { ...group, sequence: expandItems(given, inheritedFrom(group), chains, [...path, name]) }
}

function describePath(path: readonly string[]): string {
  return path.length === 0 ? 'this chain' : `chain '${path.at(-1)}'`
}

/** The prompt of a chain applies to its steps that have none. */
function withPrompt(
  step: StepConfig,
  chain: Pick<StepConfig, 'prompt' | 'promptFile'>,
): StepConfig {
  return step.prompt === undefined && step.promptFile === undefined ? { ...step, ...chain } : step
}
