import { isBlank } from '../parse/prompt/parse-command.ts'
import { dropUndefined } from '../../base/objects.ts'
import { claudeEngine } from '../../engines/claude/engine.ts'
import type { FileRead, Launch, QueueServer, ResolvedAgent, Turn } from '../../engines/engine.ts'
import { nativeEngine } from '../../engines/native/engine.ts'
import { binaryEngine } from '../../engines/program/engine.ts'
import { fillTemplate, renderTemplate } from '../parse/template.ts'
import type { Phases } from '../parse/prompt/phases.ts'
import {
  choosePrompt,
  type ChosenPrompt,
  type PromptLevel,
  type ReadPrompt,
  type Values,
} from '../prompts/choose.ts'
import { contentOnly, hasSetup, readPhases } from '../prompts/read-phases.ts'
import type { Mode } from '../prompts/system-prompt.ts'
import { readSystemPrompt } from '../prompts/system-prompt.ts'
import { readOwnArgs, taskPrompt } from './agent-role.ts'
import { getsQueue } from './direct-agent.ts'
import type { StepNode } from './plan.ts'

/** The prompt without its commands. */
type SpokenPrompt = Omit<ChosenPrompt, 'template'>

/** A model needs a prompt, even if the system prompt says everything. */
const NO_PROMPT: SpokenPrompt = {
  text: 'Carry out your instructions for this iteration.',
  source: { level: 'built-in' },
}

interface LaunchOptions {
  readonly asWritten?: boolean
  /** Appended to the prompt as data: variables and commands in it have no effect. */
  readonly feedback?: string | undefined
  /** Returns the cost limit; called once it is known whether the agent may queue tasks. */
  readonly promise?: (mayQueue: boolean) => number | undefined
  /** Reads the files named by /read; if absent, nothing is read. */
  readonly readFile?: (path: string) => FileRead | undefined
  /** For agents that get queue and inbox as tools. */
  readonly queue?: QueueServer | undefined
  /** The kind of run that the system prompt describes. */
  readonly mode?: Mode
  /** Appended to the system prompt. */
  readonly introduction?: string | undefined
}

interface MadeLaunch {
  readonly launch: Launch
  readonly args: readonly string[]
  readonly prompt: SpokenPrompt | undefined
  readonly phases: Phases
  /** The name of the prompt in messages. */
  readonly where: string
  /** Whether the agent gets queue and inbox as tools. */
  readonly hasQueue?: boolean
}

/**
 * How to start a step's agent with these built-in variables: for an iteration, for the check before a run and,
 * with `asWritten`, for the dry run. Throws a `UserError` if it cannot start.
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
  const phases =
    chosen === undefined || step.rawPrompt === true
      ? contentOnly(chosen?.text ?? '')
      : readPhases(chosen.template, where, values)
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
  const own = readSystemPrompt(agent, readPrompt, mode)
  const systemPrompt = introduction === undefined ? own : `${own.trimEnd()}\n\n${introduction}`
  const { task, rest } = readOwnArgs(args, agent.isBundled === true)
  const text = taskPrompt(task, spoken?.text)
  const source = spoken?.source ?? { level: 'step' }
  const prompt = text === undefined ? NO_PROMPT : { text, source }
  const hasQueue = queue !== undefined && getsQueue(agent, phases)
  const turn = {
    ...common,
    args: rest,
    prompt: prompt.text,
    systemPrompt,
    ...dropUndefined({
      maxCostUsd: promise?.(hasQueue || hasSetup(phases)),
      queue: hasQueue ? queue : undefined,
    }),
  }
  return { launch: prepareLaunch(agent, turn), args, prompt, phases, where, hasQueue }
}

/** The name in messages of a prompt that is not a file. */
function placeOf(level: PromptLevel | undefined, { number, agent }: StepNode): string {
  if (level === 'command line') return 'the prompt'
  if (level === 'chain') return 'the prompt of the chain'
  if (level === 'agent default') return `the default prompt of ${agent.name}`
  return `the prompt of step ${number}`
}

/** Undefined if the prompt consists only of commands. */
function contentOf(
  { content }: Phases,
  chosen: ChosenPrompt | undefined,
): SpokenPrompt | undefined {
  if (chosen === undefined || isBlank(content)) return undefined
  return { text: content, source: chosen.source }
}

function withFeedback(
  chosen: SpokenPrompt | undefined,
  feedback: string | undefined,
): SpokenPrompt | undefined {
  if (feedback === undefined) return chosen
  if (chosen === undefined) return { text: feedback, source: { level: 'built-in' } }
  return { ...chosen, text: `${chosen.text}\n\n${feedback}` }
}

function prepareLaunch(agent: ResolvedAgent, turn: Turn): Launch {
  switch (agent.engine) {
    case 'binary':
      return binaryEngine.prepare(agent, turn)
    case 'claude':
      return claudeEngine.prepare(agent, turn)
    case 'native':
      return nativeEngine.prepare(agent, turn)
  }
}
