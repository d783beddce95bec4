import { parseDsl } from '../chain/parse/dsl.ts'
import type { ChainConfig, StepConfig } from '../chain/parse/chains-schema.ts'

/**
 * One step of a chain, with the fields of the configuration; `loop` says whether the agent runs
 * until its marker or once.
 */
export interface ChainStep extends Readonly<Omit<StepConfig, 'iterations' | 'args'>> {
  readonly iterations: number
  readonly loop: boolean
  readonly args?: readonly string[] | undefined
}

/** A chain of the configuration, with its prompt and its policy. */
export interface Chain extends Readonly<Omit<ChainConfig, 'steps'>> {
  readonly steps: readonly ChainStep[]
}

/** The same after `substituteVars`, which calls the prompt of the chain by its longer name. */
export interface Substituted extends Readonly<
  Omit<ChainConfig, 'steps' | 'prompt' | 'promptFile'>
> {
  readonly steps: ChainStep[]
  readonly chainPrompt: string | undefined
  readonly chainPromptFile: string | undefined
}

/** Steps as a program may give them: alone, or with what else belongs to their chain. */
export type Steps = readonly ChainStep[] | Chain | Substituted

/**
 * Reads a chain such as `planner:3 -> builder`. `isAgent` says whether a word like `x:abc` names an
 * agent; without it such a word is an error about the count.
 */
export function parseDSL(
  text: string,
  isAgent: (name: string) => boolean = () => false,
): ChainStep[] {
  return parseDsl(text, isAgent).map(toChainStep)
}

/** Whatever was given as a chain. */
export function toChain(given: Steps): Chain {
  if (isList(given)) return { steps: given }
  const whole: Chain & Partial<Pick<Substituted, 'chainPrompt' | 'chainPromptFile'>> = given
  const { chainPrompt, chainPromptFile, ...rest } = whole
  const { prompt = chainPrompt, promptFile = chainPromptFile } = rest
  return {
    ...rest,
    ...(prompt === undefined ? {} : { prompt }),
    ...(promptFile === undefined ? {} : { promptFile }),
  }
}

function isList(given: Steps): given is readonly ChainStep[] {
  return Array.isArray(given)
}

/** A step of a configuration, whether or not it knows about `loop` already. */
export function toChainStep(step: StepConfig | ChainStep): ChainStep {
  if ('loop' in step) return step
  return { ...step, iterations: step.iterations ?? 1, loop: step.iterations !== undefined }
}

export function toStepConfig({ iterations, loop, args, ...rest }: ChainStep): StepConfig {
  return {
    ...rest,
    ...(loop ? { iterations } : {}),
    ...(args === undefined ? {} : { args: [...args] }),
  }
}
