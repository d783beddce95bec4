import type { FileRead, Launch, QueueServer } from '../engines/engine.ts'
import { prepareLaunch } from '../engines/engines.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import type { Phases } from '../parse/phases/phases.ts'
import {
  choosePrompt,
  isBlank,
  type ChosenPrompt,
  type PromptLevel,
  type ReadPrompt,
  type Values,
} from '../prompt/choose.ts'
import { contentOnly, hasSetup, readPhases } from '../prompt/read-phases.ts'
import type { Mode } from '../prompt/mode-awareness.ts'
import { readSystemPrompt } from '../prompt/system-prompt.ts'
import { readOwnArgs, taskPrompt } from './bundled-args.ts'
import { getsQueue } from './direct-agent.ts'
import type { StepNode } from './plan.ts'

/** No model starts without a prompt, and the system prompt has said everything already. */
const NO_PROMPT: SpokenPrompt = {
  text: 'Carry out your instructions for this iteration.',
  source: { level: 'built-in' },
}

/** What an agent is told, without the commands that are for us. */
type SpokenPrompt = Omit<ChosenPrompt, 'template'>

interface LaunchOptions {
  readonly asWritten?: boolean
  /** What comes behind the prompt: data, in which nothing is filled in and nothing is a command. */
  readonly feedback?: string | undefined
  /** What it may cost, once it is known whether it may queue tasks; is asked once. */
  readonly promise?: (mayQueue: boolean) => number | undefined
  /** Reads what the prompt lets the agent read beforehand, each file once; absent: nothing is read. */
  readonly readFile?: (path: string) => FileRead | undefined
  /** For agents that get queue and inbox as tools. */
  readonly queue?: QueueServer | undefined
  /** How the agent is told that it is run. */
  readonly mode?: Mode
  /** What else it is told of itself, behind its own system prompt. */
  readonly introduction?: string | undefined
}

interface MadeLaunch {
  readonly launch: Launch
  readonly args: readonly string[]
  readonly prompt: SpokenPrompt | undefined
  /** What is to be done before and after the agent. */
  readonly phases: Phases
  /** What messages call the prompt. */
  readonly where: string
  /** Whether the agent gets queue and inbox as tools. */
  readonly hasQueue?: boolean
}

/**
 * How the agent of a step is called with these built-in variables: for an iteration, for a check
 * before the start, and, with `asWritten`, for the dry run. Throws a `UserError` where it cannot be.
 */
export function makeLaunch(
  step: StepNode,
  values: Values,
  readPrompt: ReadPrompt,
  { asWritten = false, feedback, promise, readFile, queue, mode, introduction }: LaunchOptions = {},
): MadeLaunch {
  const { agent } = step
  const chosen = choosePrompt(step.prompt, values, readPrompt, { asWritten })
  const where = chosen?.source.file ?? placeOf(chosen?.source.level, step)
  const phases = phasesOf(chosen, step, where, values)
  const spoken = withFeedback(contentOf(phases, chosen), feedback)
  const args = step.args.map((arg) => renderTemplate(asWritten ? arg : fillTemplate(arg, values)))
  const paths = phases.setup.flatMap((command) => (command.kind === 'read' ? [command.path] : []))
  const reads = readFile === undefined ? [] : paths.flatMap((path) => readFile(path) ?? [])
  const common = { cwd: step.cwd, reads, loop: step.loop !== undefined }
  if (agent.engine === 'binary') {
    promise?.(hasSetup(phases))
    const launch = prepareLaunch(agent, { ...common, args, prompt: spoken?.text })
    return { launch, args, prompt: spoken, phases, where }
  }
  const own = readSystemPrompt(agent.name, agent.systemPrompt, readPrompt, mode)
  const systemPrompt = introduction === undefined ? own : `${own.trimEnd()}\n\n${introduction}`
  const { task, rest } = readOwnArgs(args, agent.isBundled === true)
  const prompt = withTask(task, spoken) ?? NO_PROMPT
  const hasQueue = queue !== undefined && getsQueue(agent, phases)
  const maxCostUsd = promise?.(hasQueue || hasSetup(phases))
  const limit = maxCostUsd === undefined ? {} : { maxCostUsd }
  const server = hasQueue ? { queue } : {}
  const turn = { ...common, args: rest, prompt: prompt.text, systemPrompt, ...limit, ...server }
  return { launch: prepareLaunch(agent, turn), args, prompt, phases, where, hasQueue }
}

/** What messages call a prompt that is no file. */
function placeOf(level: PromptLevel | undefined, { number, agent }: StepNode): string {
  if (level === 'command line') return 'the prompt'
  if (level === 'chain') return 'the prompt of the chain'
  if (level === 'agent default') return `the default prompt of ${agent.name}`
  return `the prompt of step ${number}`
}

function phasesOf(
  chosen: ChosenPrompt | undefined,
  { rawPrompt = false }: StepNode,
  where: string,
  values: Values,
): Phases {
  if (chosen === undefined) return contentOnly('')
  return rawPrompt ? contentOnly(chosen.text) : readPhases(chosen.template, where, values)
}

/** Where there is nothing but commands, the agent gets no prompt. */
function contentOf(
  { content }: Phases,
  chosen: ChosenPrompt | undefined,
): SpokenPrompt | undefined {
  if (chosen === undefined || isBlank(content)) return undefined
  return { text: content, source: chosen.source }
}

/** A task that is named by an argument is a part of the prompt. */
function withTask(
  task: string | undefined,
  chosen: SpokenPrompt | undefined,
): SpokenPrompt | undefined {
  const text = taskPrompt(task, chosen?.text)
  const source = chosen?.source ?? { level: 'step' as const }
  return text === undefined ? undefined : { text, source }
}

function withFeedback(
  chosen: SpokenPrompt | undefined,
  feedback: string | undefined,
): SpokenPrompt | undefined {
  if (feedback === undefined) return chosen
  if (chosen === undefined) return { text: feedback, source: { level: 'built-in' } }
  return { ...chosen, text: `${chosen.text}\n\n${feedback}` }
}
