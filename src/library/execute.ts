import { makeRunId, randomLetters } from '../base/ids.ts'
import { lookAround } from '../cli/facts.ts'
import { ownFolder } from '../cli/own-folder.ts'
import { Terminal } from '../cli/terminal.ts'
import { VERSION } from '../cli/version.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makeStamp, type EventBody, type OutputChunk } from '../events/event.ts'
import type { Reason, RunEvent } from '../events/schema.ts'
import { isComplete, NO_EVENTS, next, type StepState } from '../events/state.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Grace } from '../plan/plan.ts'
import { readPromptText } from '../prompt/prompt-file.ts'
import { runPlan } from '../run/run-plan.ts'
import { PlainView } from '../views/plain.ts'
import { toStepConfig, type ChainStep } from './steps.ts'

interface ExecuteOptions {
  readonly cwd?: string | undefined
  /** Shows on stdout what the command line shows with --verbose. */
  readonly verbose?: boolean | undefined
  readonly args?: readonly string[] | undefined
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  /** A promise makes the agent wait. */
  readonly onOutput?: ((chunk: OutputChunk) => void | Promise<void>) | undefined
  /** Ends the run; the reason may be the signal that the agents get. */
  readonly signal?: AbortSignal | undefined
  readonly grace?: Grace | undefined
}

export interface ChainOptions extends ExecuteOptions {
  readonly steps: readonly ChainStep[]
  readonly cliPrompt?: string | undefined
  readonly cliPromptFile?: string | undefined
  readonly chainPrompt?: string | undefined
  readonly chainPromptFile?: string | undefined
  readonly agentDefaults?: Readonly<Record<string, AgentConfig>> | undefined
}

export interface RunOptions extends ExecuteOptions {
  readonly agent: string
  readonly maxIterations?: number | undefined
  readonly loop?: boolean | undefined
  readonly prompt?: string | undefined
}

export interface RunResult {
  readonly complete: boolean
  readonly iterations: number
  /** Of the last process; null where it did not end by itself. */
  readonly exitCode: number | null
  readonly reason: Reason
}

export interface ChainResult {
  readonly success: boolean
  readonly steps: readonly { readonly agent: string; readonly result: RunResult }[]
  /** Index of the first step that did not complete. */
  readonly failedAt?: number
}

/** Runs one agent, once or in a loop. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { agent, maxIterations: iterations = 1, loop = false, prompt, ...rest } = options
  const { steps } = await executeChain({
    ...rest,
    cliPrompt: prompt,
    steps: [{ agent, iterations, loop }],
  })
  return steps[0]!.result
}

/** Runs a chain of steps, silently unless `verbose`; throws a `UserError` where it cannot start. */
export async function executeChain(options: ChainOptions): Promise<ChainResult> {
  const cwd = options.cwd ?? process.cwd()
  const id = makeRunId(new Date())
  const stamp = makeStamp(id, `w-${randomLetters(6)}`)
  const env = makeAgentEnvironment(process.env, ownFolder(), cwd)
  const { chainPrompt: prompt, chainPromptFile: promptFile } = options
  const { plan } = makePlan(
    {
      run: id,
      cwd,
      base: cwd,
      chain: {
        steps: options.steps.map(toStepConfig),
        ...(prompt === undefined ? {} : { prompt }),
        ...(promptFile === undefined ? {} : { promptFile }),
      },
      agents: options.agentDefaults ?? {},
      variables: new Map(),
      args: options.args ?? [],
      cliPrompt: { prompt: options.cliPrompt, promptFile: options.cliPromptFile },
      ...(options.grace === undefined ? {} : { grace: options.grace }),
    },
    lookAround(env['PATH']),
  )
  const terminal = options.verbose
    ? new Terminal({ uncut: true, onClosed: () => undefined })
    : undefined
  const view = terminal === undefined ? undefined : new PlainView(terminal, true)
  let state = NO_EVENTS
  await runPlan(plan, {
    emit: (body: EventBody) => {
      const event = stamp(body)
      state = next(state, event)
      view?.show(event)
      options.onEvent?.(event)
    },
    output: async (chunk) => {
      await view?.output(chunk)
      await options.onOutput?.(chunk)
    },
    readPrompt: readPromptText,
    env,
    stop: options.signal ?? new AbortController().signal,
    force: new AbortController().signal,
    ownsDescendants: false,
    version: VERSION,
    verbose: options.verbose ?? false,
  })
  await terminal?.close()
  const failedAt = state.steps.findIndex((step) => !isComplete(step.reason))
  return {
    success: failedAt === -1,
    steps: state.steps.map((step) => ({ agent: step.agent, result: resultOf(step) })),
    ...(failedAt === -1 ? {} : { failedAt }),
  }
}

function resultOf({ reason = 'skipped', iterations, lastOutcome }: StepState): RunResult {
  const exitCode = lastOutcome?.kind === 'exited' ? lastOutcome.code : null
  return { complete: isComplete(reason), iterations, exitCode, reason }
}
