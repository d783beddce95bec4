import { mapStrings, type Mask } from '../base/secrets/mask.ts'
import { LOST_MASK, MASKED } from '../base/secrets/encodings.ts'
import { printable } from '../base/terminal/printable.ts'
import { parseTemplate } from '../chain/parse/template.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { stepsOf, type Plan, type StepNode } from '../chain/plan/plan.ts'

// The record does not contain texts of the plan that look like secrets. They are restored from the
// configuration, if it has not changed, or from the prompt, if the user passes it again.

const LOST = new RegExp(LOST_MASK)
const LOST_WITH_WORD = new RegExp(`\\S{0,40}${LOST_MASK}`, 'g')

/** Possible sources for the texts of a plan. */
export interface Sources {
  /** The configuration, if the plan was made from it. */
  readonly content?: ChainsConfig | undefined
  /** The prompt on the command line. */
  readonly prompt?: string | undefined
}

/** Restores the texts of a recorded plan that a source provides. */
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

/** Texts by masked form; undefined if several have the same one. */
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

/** Uses the first level that has the text, as the plan did. */
function restore<Value>(value: Value, levels: readonly Texts[]): Value {
  const find = (text: string) => {
    if (text === MASKED || !LOST.test(text)) return text
    return levels.find((texts) => texts.has(text))?.get(text) ?? text
  }
  return mapStrings(value, find) as Value
}

/** A text of a plan with a missing secret. */
export interface MissingText {
  /** The secret with the word before it, and its place. */
  readonly words: string
  /** Whether it is the prompt on the command line, which the user can pass again. */
  readonly isPrompt: boolean
}

/** Separates the text of the configuration from the plan, because resume does not need it. */
export function withoutConfigurationText(plan: Plan): { plan: Plan; text: string | undefined } {
  const { configuration, ...rest } = plan
  if (configuration === undefined) return { plan, text: undefined }
  const { text, ...about } = configuration
  return { plan: { ...rest, configuration: about }, text }
}

/** Including recoveries. */
export function allSteps({ root, recoveries }: Plan): readonly StepNode[] {
  return [...stepsOf(root), ...recoveries]
}

/** The texts of a recorded plan in which an unnamed secret is missing. */
export function findMissingTexts(plan: Plan): MissingText[] {
  const { root: _, recoveries: __, ...rest } = plan
  const found = [
    ...allSteps(plan).flatMap((step) => [
      ...missingTextsAt(step.prompt.filter(isTyped), 'the prompt on the command line', true),
      ...missingTextsAt({ ...step, prompt: undefined, policy: undefined }, `step ${step.number}`),
      ...missingTextsAt(
        step.prompt.filter((each) => !isTyped(each)),
        `the prompt of step ${step.number}`,
      ),
      ...missingTextsAt(step.policy, `step ${step.number}`),
    ]),
    ...missingTextsAt(rest, 'the chain'),
  ]
  return [...new Map(found.map((each) => [each.words, each])).values()]
}

function isTyped({ level }: StepNode['prompt'][number]): boolean {
  return level === 'command line'
}

function missingTextsAt(value: unknown, where: string, isPrompt = false): MissingText[] {
  const found: MissingText[] = []
  mapStrings(value, (text) => {
    for (const [shown] of text.matchAll(LOST_WITH_WORD)) {
      found.push({ words: `${printable(shown)} in ${where}`, isPrompt })
    }
    return text
  })
  return found
}
