import { loadConfiguration } from '../host/configuration.ts'
import { getChain as findChain } from '../host/chains.ts'
import { expandChain } from '../chain/parse/items.ts'
import { renderTemplate } from '../chain/parse/template.ts'
import type { ChainConfig, ChainsConfig } from '../chain/parse/chains-schema.ts'
import { PlanError } from '../chain/plan/problems.ts'
import { Variables } from '../chain/plan/variables.ts'
import { renderPrompt } from '../chain/prompts/read-phases.ts'
import {
  mapSteps,
  toChain,
  toChainConfigs,
  toChainItem,
  type Chain,
  type Steps,
  type Substituted,
} from './steps.ts'

/** The configuration of a project; `loop` of each step says whether its agent runs in a loop. */
export interface ForkhestraConfig extends Readonly<Omit<ChainsConfig, 'chains'>> {
  readonly chains: Readonly<Record<string, Chain>>
}

/** The configuration of a project; null if there is no file. */
export async function loadConfig(cwd: string): Promise<ForkhestraConfig | null> {
  const { file, content } = await loadConfiguration(cwd, undefined, {})
  if (file === undefined) return null
  return { ...content, chains: mapValues(content.chains, withLoops) }
}

/** A named chain of a configuration; throws an error that lists the existing names. */
export function getChain(config: ForkhestraConfig | ChainsConfig, name: string): Chain {
  const chains = toChainConfigs(config.chains)
  return withLoops(expandChain(findChain(chains, name), chains, name))
}

function withLoops(chain: ChainConfig): Chain {
  return { ...chain, steps: chain.steps.map(toChainItem) }
}

function mapValues<From, To>(
  values: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, change(value)]))
}

/**
 * Replaces `${NAME}` in steps and in the prompt of the chain; throws one error with all missing variables.
 * A value that looks like a prompt command stays text.
 */
export function substituteVars(
  given: Steps,
  vars: Readonly<Record<string, string>>,
  chainPrompt?: string,
  chainPromptFile?: string,
): Substituted {
  const { steps, prompt, promptFile, ...rest } = toChain(given)
  const variables = new Variables(new Map(Object.entries(vars)))
  const fill = (text: string, owner: string) => renderTemplate(variables.require(text, owner))
  const fillPrompt = (text: string, owner: string, isRaw = false) => {
    const template = variables.require(text, owner)
    if (isRaw || variables.problems.length > 0) return renderTemplate(template)
    return renderPrompt(template, `the prompt of ${owner}`)
  }
  const filled = mapSteps(steps, (step) => {
    const owner = `'${step.agent}'`
    const isRaw = step.rawPrompt ?? rest.rawPrompt
    return {
      ...step,
      ...(step.args === undefined ? {} : { args: step.args.map((arg) => fill(arg, owner)) }),
      ...(step.prompt === undefined ? {} : { prompt: fillPrompt(step.prompt, owner, isRaw) }),
      ...(step.promptFile === undefined ? {} : { promptFile: fill(step.promptFile, owner) }),
    }
  })
  const inChain = (text: string | undefined, fillIn: typeof fill) =>
    text === undefined ? undefined : fillIn(text, 'the chain')
  const fillChain = (text: string, owner: string) => fillPrompt(text, owner, rest.rawPrompt)
  const result = {
    ...rest,
    steps: filled,
    chainPrompt: inChain(chainPrompt ?? prompt, fillChain),
    chainPromptFile: inChain(chainPromptFile ?? promptFile, fill),
  }
  if (variables.problems.length > 0) throw new PlanError(variables.problems)
  return result
}
