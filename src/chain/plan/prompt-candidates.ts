import { isBlank } from '../parse/prompt/parse-command.ts'
import { own } from '../../base/objects.ts'
import type { StepConfig } from '../parse/chains-schema.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import type { PromptCandidate, PromptLevel, Values } from '../prompts/choose.ts'
import type { Facts } from './facts.ts'
import type { Request } from './request.ts'
import type { Variables } from './variables.ts'

type Levels = Pick<
  Request,
  'name' | 'cwd' | 'base' | 'agentBase' | 'chain' | 'agents' | 'cliPrompt'
>

/**
 * The possible sources of a step's prompt by precedence, up to the first that always applies. A variable in a
 * source that is always overridden is not required.
 */
export function promptCandidates(
  levels: Levels,
  step: StepConfig,
  builtIn: Values,
  variables: Variables,
  facts: Facts,
): PromptCandidate[] {
  const candidates: PromptCandidate[] = []
  let settled = false
  let overridden = false
  for (const { level, owner, base, text, file } of sourcesOf(levels, step)) {
    const source = text ?? file
    if (source === undefined) continue
    const { template, missing } =
      level === 'command line' ? { template: [source], missing: [] } : variables.fill(source)
    if (settled) continue
    if (!overridden) variables.demand(missing, owner)
    if (isBlank(renderTemplate(template))) continue
    settled = text !== undefined
    // The variable is missing, but this source overrides later ones either way.
    overridden ||= missing.length > 0
    if (missing.length > 0) continue
    if (settled) {
      candidates.push({ level, text: template })
    } else {
      candidates.push({ level, file: template, base })
      const path = renderTemplate(fillTemplate(template, builtIn))
      overridden ||= !isBlank(facts.readPrompt(path, base))
    }
  }
  return candidates
}

interface Source {
  readonly level: PromptLevel
  /** For messages about a missing variable. */
  readonly owner: string
  /** The base of a relative path. */
  readonly base: string
  readonly text?: string | undefined
  readonly file?: string | undefined
}

function sourcesOf(levels: Levels, { agent, prompt, promptFile }: StepConfig): Source[] {
  const { agents, name, cliPrompt, chain, cwd, base, agentBase } = levels
  const config = own(agents, agent)
  const owner = `'${agent}'`
  const chainName = name === undefined ? 'the chain' : `chain '${name}'`
  return [
    { level: 'command line', owner, base: cwd, text: cliPrompt.prompt },
    { level: 'command line', owner, base: cwd, file: cliPrompt.promptFile },
    { level: 'step', owner, base, text: prompt },
    { level: 'step', owner, base, file: promptFile },
    { level: 'chain', owner: chainName, base, text: chain.prompt },
    { level: 'chain', owner: chainName, base, file: chain.promptFile },
    { level: 'agent default', owner, base: agentBase, text: config?.defaultPrompt },
    { level: 'agent default', owner, base: agentBase, file: config?.defaultPromptFile },
  ]
}
