import type { Launch } from '../engines/engine.ts'
import { prepareLaunch } from '../engines/engines.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import { choosePrompt, type ChosenPrompt, type ReadPrompt, type Values } from '../prompt/choose.ts'
import { readSystemPrompt } from '../prompt/system-prompt.ts'
import type { StepNode } from './plan.ts'

/** `claude` refuses to start without a prompt, and the system prompt has said everything already. */
const NO_PROMPT: ChosenPrompt = {
  text: 'Carry out your instructions for this iteration.',
  source: { level: 'built-in' },
}

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
  const { agent } = step
  const chosen = choosePrompt(step.prompt, values, readPrompt, { asWritten })
  const args = step.args.map((arg) => renderTemplate(asWritten ? arg : fillTemplate(arg, values)))
  const loop = step.loop !== undefined
  if (agent.engine === 'binary') {
    return {
      launch: prepareLaunch(agent, { args, prompt: chosen?.text, loop }),
      args,
      prompt: chosen,
    }
  }
  const prompt = chosen ?? NO_PROMPT
  const systemPrompt = readSystemPrompt(agent.systemPrompt, readPrompt)
  return {
    launch: prepareLaunch(agent, { args, prompt: prompt.text, systemPrompt, loop }),
    args,
    prompt,
  }
}
