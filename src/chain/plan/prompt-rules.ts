import { resolve } from 'node:path'
import type { PolicyConfig } from '../parse/policy-schema.ts'
import type { StepNode } from './plan.ts'

interface Levels {
  readonly step: PolicyConfig
  readonly chain: PolicyConfig
  readonly agent: PolicyConfig
  /** The base of relative paths in step and chain. */
  readonly base: string
  readonly agentBase: string
  /** Whether the command line disables commands in prompts. */
  readonly isRaw: boolean
}

/** Whether the prompt of a step has commands, and what they may read; the nearest level wins. */
export function makePromptRules(levels: Levels): Pick<StepNode, 'rawPrompt' | 'reading'> {
  const { step, chain, agent, isRaw } = levels
  const rawPrompt = isRaw || (step.rawPrompt ?? chain.rawPrompt ?? agent.rawPrompt ?? false)
  const limitBytes = step.readLimit ?? chain.readLimit ?? agent.readLimit
  const roots = rootsOf(levels)
  const reading = {
    ...(limitBytes === undefined ? {} : { limitBytes }),
    ...(roots === undefined ? {} : { roots }),
  }
  return {
    ...(rawPrompt ? { rawPrompt } : {}),
    ...(Object.keys(reading).length === 0 ? {} : { reading }),
  }
}

function rootsOf({ step, chain, agent, base, agentBase }: Levels): string[] | undefined {
  const near = step.readRoots ?? chain.readRoots
  if (near !== undefined) return near.map((root) => resolve(base, root))
  return agent.readRoots?.map((root) => resolve(agentBase, root))
}
