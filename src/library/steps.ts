import { parseDsl } from '../parse/dsl.ts'
import type { StepConfig } from '../parse/chains-schema.ts'

/** One step of a chain; `loop` tells whether the agent runs until its marker or once. */
export interface ChainStep {
  readonly agent: string
  readonly iterations: number
  readonly loop: boolean
  readonly args?: readonly string[]
  readonly prompt?: string
  readonly promptFile?: string
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

export function toChainStep({
  agent,
  iterations,
  args,
  prompt,
  promptFile,
}: StepConfig): ChainStep {
  return {
    agent,
    iterations: iterations ?? 1,
    loop: iterations !== undefined,
    ...(args === undefined ? {} : { args }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(promptFile === undefined ? {} : { promptFile }),
  }
}

export function toStepConfig({
  agent,
  iterations,
  loop,
  args,
  prompt,
  promptFile,
}: ChainStep): StepConfig {
  return {
    agent,
    ...(loop ? { iterations } : {}),
    ...(args === undefined ? {} : { args: [...args] }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(promptFile === undefined ? {} : { promptFile }),
  }
}
