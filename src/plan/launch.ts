import type { Launch } from '../engines/engine.ts'
import { prepareLaunch } from '../engines/engines.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import { choosePrompt, type ChosenPrompt, type ReadPrompt, type Values } from '../prompt/choose.ts'
import type { StepNode } from './plan.ts'

/**
 * How the agent of a step is called with these built-in variables: for an iteration, for a check
 * before the start, and, with `asWritten`, for the dry run. Throws a `UserError` where it cannot be.
 */
export function makeLaunch(
  step: StepNode,
  values: Values,
  readPrompt: ReadPrompt,
  { asWritten = false } = {},
): {
  readonly launch: Launch
  readonly args: readonly string[]
  readonly prompt: ChosenPrompt | undefined
} {
  const prompt = choosePrompt(step.prompt, values, readPrompt, { asWritten })
  const args = step.args.map((arg) => renderTemplate(asWritten ? arg : fillTemplate(arg, values)))
  const loop = step.loop !== undefined
  const launch = prepareLaunch(step.agent, { args, prompt: prompt?.text, loop })
  return { launch, args, prompt }
}
