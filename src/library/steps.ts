import { parseDsl } from '../parse/dsl.ts'
import type { StepConfig } from '../parse/chains-schema.ts'

/**
 * One step of a chain, with the fields of the configuration; `loop` tells whether the agent runs
 * until its marker or once.
 */
export interface ChainStep extends Readonly<Omit<StepConfig, 'iterations' | 'args'>> {
  readonly iterations: number
  readonly loop: boolean
  readonly args?: readonly string[] | undefined
}

/**
 * Reads a chain such as `planner:3 -> builder`. `isAgent` tells whether a word like `x:abc` names an
 * agent; without it such a word is an error about the count.
 */
export function parseDSL(
  text: string,
  isAgent: (name: string) => boolean = () => false,
): ChainStep[] {
  return parseDsl(text, isAgent).map(({ agent, loop }) => ({
    agent,
    iterations: loop ?? 1,
    loop: loop !== undefined,
  }))
}

export function toChainStep({ iterations, ...rest }: StepConfig): ChainStep {
  return { ...rest, iterations: iterations ?? 1, loop: iterations !== undefined }
}

export function toStepConfig({ iterations, loop, args, ...rest }: ChainStep): StepConfig {
  return {
    ...rest,
    ...(loop ? { iterations } : {}),
    ...(args === undefined ? {} : { args: [...args] }),
  }
}
