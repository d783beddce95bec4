import { dropUndefined } from '../base/drop-undefined.ts'
import { parseDsl } from '../chain/parse/dsl.ts'
import type { ChainConfig, StepConfig } from '../chain/parse/chains-schema.ts'

/** A step with the fields of the configuration; `loop` tells whether the agent runs until its marker. */
export interface ChainStep extends Readonly<Omit<StepConfig, 'iterations' | 'args'>> {
  readonly iterations: number
  readonly loop: boolean
  readonly args?: readonly string[] | undefined
}

export interface Chain extends Readonly<Omit<ChainConfig, 'steps'>> {
  readonly steps: readonly ChainStep[]
}

/** A chain after `substituteVars`, which uses longer names for the prompt. */
export interface Substituted extends Readonly<
  Omit<ChainConfig, 'steps' | 'prompt' | 'promptFile'>
> {
  readonly steps: ChainStep[]
  readonly chainPrompt: string | undefined
  readonly chainPromptFile: string | undefined
}

export type Steps = readonly ChainStep[] | Chain | Substituted

/** Parses a chain such as `planner:3 -> builder`. `isAgent` tells whether a word like `x:abc` is an agent. */
export function parseDSL(
  text: string,
  isAgent: (name: string) => boolean = () => false,
): ChainStep[] {
  return parseDsl(text, isAgent).map(toChainStep)
}

export function toChain(given: Steps): Chain {
  if (isList(given)) return { steps: given }
  const whole: Chain & Partial<Pick<Substituted, 'chainPrompt' | 'chainPromptFile'>> = given
  const { chainPrompt, chainPromptFile, ...rest } = whole
  const { prompt = chainPrompt, promptFile = chainPromptFile } = rest
  return { ...rest, ...dropUndefined({ prompt, promptFile }) }
}

function isList(given: Steps): given is readonly ChainStep[] {
  return Array.isArray(given)
}

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
