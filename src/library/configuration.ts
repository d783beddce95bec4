import { loadConfiguration } from '../setup/configuration.ts'
import { getChain as findChain } from '../setup/chains.ts'
import { renderTemplate } from '../parse/template.ts'
import type { ChainConfig, ChainsConfig } from '../parse/chains-schema.ts'
import { PlanError } from '../plan/problems.ts'
import { Variables } from '../plan/variables.ts'
import { renderPrompt } from '../prompt/read-phases.ts'
import { toChainStep, type ChainStep } from './steps.ts'

/** The configuration of a project, or null where it has none of its own. */
export async function loadConfig(cwd: string): Promise<ChainsConfig | null> {
  const { file, content } = await loadConfiguration(cwd, undefined, {})
  return file === undefined ? null : content
}

/** A named chain of a configuration; throws with the names that there are. */
export function getChain(config: ChainsConfig, name: string): Chain {
  const { steps, ...rest } = findChain(config.chains, name)
  return { ...rest, steps: steps.map(toChainStep) }
}

export interface Chain extends Readonly<Omit<ChainConfig, 'steps'>> {
  readonly steps: readonly ChainStep[]
}

export interface Substituted {
  readonly steps: ChainStep[]
  readonly chainPrompt: string | undefined
  readonly chainPromptFile: string | undefined
}

/**
 * Fills `${NAME}` everywhere; throws once with everything that is missing. A value stays text, also
 * where it looks like a command of a prompt.
 */
export function substituteVars(
  steps: readonly ChainStep[],
  vars: Readonly<Record<string, string>>,
  chainPrompt?: string,
  chainPromptFile?: string,
): Substituted {
  const variables = new Variables(new Map(Object.entries(vars)))
  const fill = (text: string, owner: string) => renderTemplate(variables.require(text, owner))
  const fillPrompt = (text: string, owner: string, isRaw = false) => {
    const template = variables.require(text, owner)
    if (isRaw || variables.problems.length > 0) return renderTemplate(template)
    return renderPrompt(template, `the prompt of ${owner}`)
  }
  const filled = steps.map((step) => {
    const owner = `'${step.agent}'`
    return {
      ...step,
      ...(step.args === undefined ? {} : { args: step.args.map((arg) => fill(arg, owner)) }),
      ...(step.prompt === undefined
        ? {}
        : { prompt: fillPrompt(step.prompt, owner, step.rawPrompt) }),
      ...(step.promptFile === undefined ? {} : { promptFile: fill(step.promptFile, owner) }),
    }
  })
  const inChain = (text: string | undefined, fillIn: typeof fill) =>
    text === undefined ? undefined : fillIn(text, 'the chain')
  const result = {
    steps: filled,
    chainPrompt: inChain(chainPrompt, fillPrompt),
    chainPromptFile: inChain(chainPromptFile, fill),
  }
  if (variables.problems.length > 0) throw new PlanError(variables.problems)
  return result
}
