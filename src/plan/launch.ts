import type { Launch } from '../engines/engine.ts'
import { prepareLaunch } from '../engines/engines.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import { choosePrompt, type ChosenPrompt, type ReadPrompt, type Values } from '../prompt/choose.ts'
import { readSystemPrompt } from '../prompt/system-prompt.ts'
import { readBundledArgs, taskPrompt } from './bundled-args.ts'
import type { StepNode } from './plan.ts'

/** `claude` refuses to start without a prompt, and the system prompt has said everything already. */
const NO_PROMPT: ChosenPrompt = {
  text: 'Carry out your instructions for this iteration.',
  source: { level: 'built-in' },
}

interface LaunchOptions {
  readonly asWritten?: boolean
  /** What comes behind the prompt: data, in which nothing is filled in and nothing is a command. */
  readonly feedback?: string | undefined
  readonly maxCostUsd?: number | undefined
}

/**
 * How the agent of a step is called with these built-in variables: for an iteration, for a check
 * before the start, and, with `asWritten`, for the dry run. Throws a `UserError` where it cannot be.
 */
export function makeLaunch(
  step: StepNode,
  values: Values,
  readPrompt: ReadPrompt,
  { asWritten = false, feedback, maxCostUsd }: LaunchOptions = {},
): {
  readonly launch: Launch
  readonly args: readonly string[]
  readonly prompt: ChosenPrompt | undefined
} {
  const { agent } = step
  const chosen = withFeedback(
    choosePrompt(step.prompt, values, readPrompt, { asWritten }),
    feedback,
  )
  const args = step.args.map((arg) => renderTemplate(asWritten ? arg : fillTemplate(arg, values)))
  const loop = step.loop !== undefined
  if (agent.engine === 'binary') {
    return {
      launch: prepareLaunch(agent, { args, prompt: chosen?.text, loop }),
      args,
      prompt: chosen,
    }
  }
  const systemPrompt = readSystemPrompt(agent.name, agent.systemPrompt, readPrompt)
  const { task, rest } = agent.isBundled === true ? readBundledArgs(args) : withoutTask(args)
  const prompt = withTask(task, chosen) ?? NO_PROMPT
  const limit = maxCostUsd === undefined ? {} : { maxCostUsd }
  const turn = { args: rest, prompt: prompt.text, systemPrompt, loop, ...limit }
  return { launch: prepareLaunch(agent, turn), args, prompt }
}

function withoutTask(rest: readonly string[]): ReturnType<typeof readBundledArgs> {
  return { task: undefined, rest }
}

/** A task that is named by an argument is a part of the prompt. */
function withTask(
  task: string | undefined,
  chosen: ChosenPrompt | undefined,
): ChosenPrompt | undefined {
  const text = taskPrompt(task, chosen?.text)
  const source = chosen?.source ?? { level: 'step' as const }
  return text === undefined ? undefined : { text, source }
}

function withFeedback(
  chosen: ChosenPrompt | undefined,
  feedback: string | undefined,
): ChosenPrompt | undefined {
  if (feedback === undefined) return chosen
  if (chosen === undefined) return { text: feedback, source: { level: 'built-in' } }
  return { ...chosen, text: `${chosen.text}\n\n${feedback}` }
}
