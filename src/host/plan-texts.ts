import { mapStrings, type Mask } from '../base/secrets/mask.ts'
import { LOST_MASK, MASKED } from '../base/secrets/encodings.ts'
import { printable } from '../base/terminal/printable.ts'
import { parseTemplate } from '../chain/parse/template.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { stepsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'

// A text of the plan that looks like a secret is not in the record. Where the configuration has not
// changed, or the user passes the prompt again, it is matched with what the record contains.

const LOST = new RegExp(LOST_MASK)
const LOST_WITH_WORD = new RegExp(`\\S{0,40}${LOST_MASK}`, 'g')

/** What the texts of a plan may have come from. */
export interface Sources {
  /** The configuration, where it is the one that the plan was made from. */
  readonly content?: ChainsConfig | undefined
  /** The prompt of the command line. */
  readonly prompt?: string | undefined
}

/** The recorded plan with the texts that one of the sources provides. */
export function restoreTexts(recorded: Plan, { content, prompt }: Sources, mask: Mask): Plan {
  const chain = recorded.chain === undefined ? undefined : content?.chains[recorded.chain]
  const { steps = [], ...whole } = chain ?? {}
  const typed = textsOf(prompt, mask)
  const ofChain = textsOf(whole, mask)
  const restoreStep = (step: StepNode): StepNode => {
    const ofAgent = textsOf(content?.agents?.[step.agent.name], mask)
    const ofStep = textsOf(steps[step.number - 1], mask)
    return restore(step, [typed, ofStep, ofChain, ofAgent])
  }
  const restoreNode = (node: Plan['root']): Plan['root'] => ({
    ...node,
    of: node.of.map((each) => (each.kind === 'step' ? restoreStep(each) : restoreNode(each))),
  })
  const { root, recoveries, ...rest } = recorded
  return {
    ...restore(rest, [ofChain]),
    root: restoreNode(root),
    recoveries: recoveries.map(restoreStep),
  }
}

/** Texts by what the record has of them; undefined where several come to the same. */
type Texts = ReadonlyMap<string, string | undefined>

function textsOf(source: unknown, mask: Mask): Texts {
  const texts = new Map<string, string | undefined>()
  mapStrings(source, (text) => {
    for (const part of [text, ...parseTemplate(text)]) {
      const masked = typeof part === 'string' ? mask.text(part) : part
      if (typeof part !== 'string' || typeof masked !== 'string' || masked === part) continue
      const isOther = texts.has(masked) && texts.get(masked) !== part
      texts.set(masked, isOther ? undefined : part)
    }
    return text
  })
  return texts
}

/** The first level that knows a text counts, as it did for the plan. */
function restore<Value>(value: Value, levels: readonly Texts[]): Value {
  const find = (text: string) => {
    if (text === MASKED || !LOST.test(text)) return text
    return levels.find((texts) => texts.has(text))?.get(text) ?? text
  }
  return mapStrings(value, find) as Value
}

/** A text of a plan that is not whole. */
export interface Lacking {
  /** The secret with the word before it, and its place. */
  readonly words: string
  /** Whether it is the prompt of the command line, which can be given again. */
  readonly isPrompt: boolean
}

/** Separates the text of the configuration from the plan; resume does not need it. */
export function withoutConfigurationText(plan: Plan): { plan: Plan; text: string | undefined } {
  const { configuration, ...rest } = plan
  if (configuration === undefined) return { plan, text: undefined }
  const { text, ...about } = configuration
  return { plan: { ...rest, configuration: about }, text }
}

/** The texts that a record holds only without something that looks like a secret and has no name. */
export function lackingIn(plan: Plan): Lacking[] {
  const { root, recoveries, ...rest } = plan
  const steps = [...stepsOf(root), ...recoveries]
  const found = [
    ...steps.flatMap((step) => [
      ...lackingAt(step.prompt.filter(isTyped), 'the prompt of the command line', true),
      ...lackingAt({ ...step, prompt: undefined, policy: undefined }, `step ${step.number}`),
      ...lackingAt(
        step.prompt.filter((each) => !isTyped(each)),
        `the prompt of step ${step.number}`,
      ),
      ...lackingAt(step.policy, `step ${step.number}`),
    ]),
    ...lackingAt(rest, 'the chain'),
  ]
  return [...new Map(found.map((each) => [each.words, each])).values()]
}

function isTyped({ level }: StepNode['prompt'][number]): boolean {
  return level === 'command line'
}

function lackingAt(value: unknown, where: string, isPrompt = false): Lacking[] {
  const found: Lacking[] = []
  mapStrings(value, (text) => {
    for (const [shown] of text.matchAll(LOST_WITH_WORD)) {
      found.push({ words: `${printable(shown)} in ${where}`, isPrompt })
    }
    return text
  })
  return found
}
