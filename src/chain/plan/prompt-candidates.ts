import type { ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import { isBlank, type PromptCandidate, type PromptLevel, type Values } from '../prompts/choose.ts'
import type { Facts } from './facts.ts'
import type { Agents } from './resolve-agent.ts'
import type { Variables } from './variables.ts'

/** A prompt as text or as the path of a file; the text wins. */
export interface InlineOrFile {
  readonly prompt?: string | undefined
  readonly promptFile?: string | undefined
}

interface Levels {
  readonly name?: string | undefined
  readonly cwd: string
  readonly base: string
  readonly agentBase: string
  readonly chain: ChainConfig
  readonly agents: Agents
  readonly cliPrompt: InlineOrFile
}

/**
 * The possible sources of a step's prompt by precedence, up to the first one that always applies. A
 * variable in a source that is certainly overridden is not required.
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
  for (const { level, owner, kind, source } of sources(levels, step)) {
    const literal = level === 'command line'
    const { template, missing } = literal
      ? { template: [source], missing: [] }
      : variables.fill(source)
    if (settled) continue
    if (!overridden) variables.demand(missing, owner)
    if (isBlank(renderTemplate(template))) continue
    if (kind === 'text') settled = true
    // The variable is missing, but this source overrides the ones after it in any case.
    overridden ||= missing.length > 0
    if (missing.length > 0) continue
    if (kind === 'text') {
      candidates.push({ level, text: template })
    } else {
      const base = baseOf(level, levels)
      candidates.push({ level, file: template, base })
      const path = renderTemplate(fillTemplate(template, builtIn))
      overridden ||= !isBlank(facts.readPrompt(path, base))
    }
  }
  return candidates
}

function baseOf(level: PromptLevel, { cwd, base, agentBase }: Levels): string {
  if (level === 'command line') return cwd
  return level === 'agent default' ? agentBase : base
}

interface Source {
  readonly level: PromptLevel
  /** For messages about a missing variable. */
  readonly owner: string
  readonly kind: 'text' | 'file'
  readonly source: string
}

function sources(levels: Levels, step: StepConfig): Source[] {
  const agent = Object.hasOwn(levels.agents, step.agent) ? levels.agents[step.agent] : undefined
  const agentName = `'${step.agent}'`
  const chainName = levels.name === undefined ? 'the chain' : `chain '${levels.name}'`
  const both = (
    level: PromptLevel,
    owner: string,
    { prompt, promptFile }: InlineOrFile,
  ): Source[] => [
    ...(prompt === undefined ? [] : [{ level, owner, kind: 'text' as const, source: prompt }]),
    ...(promptFile === undefined
      ? []
      : [{ level, owner, kind: 'file' as const, source: promptFile }]),
  ]
  return [
    ...both('command line', agentName, levels.cliPrompt),
    ...both('step', agentName, step),
    ...both('chain', chainName, levels.chain),
    ...both('agent default', agentName, {
      prompt: agent?.defaultPrompt,
      promptFile: agent?.defaultPromptFile,
    }),
  ]
}
