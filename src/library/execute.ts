import { UserError } from '../base/errors.ts'
import { makeRunId, randomLetters } from '../base/ids.ts'
import { resolveCwd } from '../setup/project.ts'
import { lookAround } from '../setup/facts.ts'
import { ownFolder } from '../setup/own-folder.ts'
import { makeTaskPort } from '../setup/task-port.ts'
import { Terminal } from '../views/terminal.ts'
import { VERSION } from '../setup/version.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { makeStamp, type EventBody, type OutputChunk } from '../events/event.ts'
import type { Reason, RunEvent } from '../events/schema.ts'
import { NO_EVENTS, next, type RunState } from '../events/state.ts'
import { isComplete, isSettled, type StepState } from '../events/step-state.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { ChainPolicyConfig } from '../parse/policy-schema.ts'
import { MAX_ITERATIONS } from '../parse/dsl.ts'
import { makePlan } from '../plan/make-plan.ts'
import type { Plan } from '../plan/plan.ts'
import { checkTasks } from '../plan/task-verdict.ts'
import type { Grace } from '../plan/policy.ts'
import { readPromptText } from '../prompt/prompt-file.ts'
import { NO_CONTROL } from '../run/ports.ts'
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
  /** Says that nothing is to be waited for any more. */
  readonly force?: AbortSignal | undefined
  readonly grace?: Grace | undefined
  /** Whether nothing in any prompt is a command: for text from elsewhere. */
  readonly rawPrompt?: boolean | undefined
}

export interface ChainOptions extends ExecuteOptions {
  readonly steps: readonly ChainStep[]
  readonly cliPrompt?: string | undefined
  readonly cliPromptFile?: string | undefined
  readonly chainPrompt?: string | undefined
  readonly chainPromptFile?: string | undefined
  readonly agentDefaults?: Readonly<Record<string, AgentConfig>> | undefined
  /** Limits, gates and the like, as a chain of the configuration has them. */
  readonly policy?: Readonly<ChainPolicyConfig> | undefined
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
  checkSteps(options.steps)
  const env = makeAgentEnvironment(process.env, ownFolder())
  const plan = await planChain(options, env)
  const { steps: all } = await carryOut(plan, options, env)
  const steps = all.filter(({ isRecovery }) => isRecovery !== true)
  const failedAt = steps.findIndex((step) => !isSettled(step))
  return {
    success: failedAt === -1,
    steps: steps.map((step) => ({ agent: step.agent, result: resultOf(step) })),
    ...(failedAt === -1 ? {} : { failedAt }),
  }
}

type Environment = ReturnType<typeof makeAgentEnvironment>

async function planChain(options: ChainOptions, env: Environment): Promise<Plan> {
  const cwd = resolveCwd(options.cwd)
  const { chainPrompt: prompt, chainPromptFile: promptFile } = options
  const chain = {
    ...options.policy,
    steps: options.steps.map(toStepConfig),
    ...(prompt === undefined ? {} : { prompt }),
    ...(promptFile === undefined ? {} : { promptFile }),
  }
  // Loaded only here: most chains have none, and a validator takes time to load.
  if (hasPolicy(options)) (await import('../parse/check-chain.ts')).checkChain(chain)
  const request = {
    run: makeRunId(new Date()),
    cwd,
    base: cwd,
    agentBase: cwd,
    chain,
    agents: options.agentDefaults ?? {},
    variables: 'built-in only' as const,
    args: options.args ?? [],
    cliPrompt: { prompt: options.cliPrompt, promptFile: options.cliPromptFile },
    ...(options.grace === undefined ? {} : { grace: options.grace }),
    rawPrompt: options.rawPrompt === true,
  }
  const { plan } = makePlan(request, lookAround(env))
  checkTasks(plan, makeTaskPort(cwd, plan.run, env))
  return plan
}

async function carryOut(plan: Plan, options: ExecuteOptions, env: Environment): Promise<RunState> {
  const stamp = makeStamp(plan.run, `w-${randomLetters(6)}`)
  const terminal = options.verbose
    ? new Terminal({ env, uncut: true, onClosed: () => undefined, onLost: () => undefined })
    : undefined
  const view = terminal === undefined ? undefined : new PlainView(terminal, true)
  const stop = options.signal ?? new AbortController().signal
  let state = NO_EVENTS
  await runPlan(plan, {
    emit: (body: EventBody) => {
      const event = stamp(body)
      state = next(state, event)
      view?.show(event)
      options.onEvent?.(event)
      return event
    },
    state: () => state,
    keepPrompt: () => undefined,
    control: NO_CONTROL,
    output: async (chunk) => {
      await view?.output(chunk)
      await options.onOutput?.(chunk)
    },
    readPrompt: readPromptText,
    tasks: makeTaskPort(plan.cwd, plan.run, env),
    env,
    stop,
    force: options.force ?? new AbortController().signal,
    ownsDescendants: false,
    version: VERSION,
  })
  await terminal?.close({ stop, force: stop })
  return state
}

/** What the types cannot say. */
function checkSteps(steps: readonly ChainStep[]): void {
  if (steps.length === 0) throw new UserError('A chain needs at least one step.')
  for (const { agent, iterations, loop } of steps) {
    const isCount = Number.isInteger(iterations) && iterations >= 1 && iterations <= MAX_ITERATIONS
    if (!loop || isCount) continue
    throw new UserError(
      `The iterations of '${agent}' are ${iterations}, expected a whole number from 1 to ${MAX_ITERATIONS}.`,
    )
  }
}

const PLAIN_FIELDS = ['agent', 'iterations', 'loop', 'args', 'prompt', 'promptFile']

function hasPolicy({ policy, steps }: ChainOptions): boolean {
  const isPlain = (step: ChainStep) => Object.keys(step).every((key) => PLAIN_FIELDS.includes(key))
  return policy !== undefined || !steps.every(isPlain)
}

function resultOf({ reason = 'skipped', iterations, lastOutcome }: StepState): RunResult {
  const exitCode = lastOutcome?.kind === 'exited' ? lastOutcome.code : null
  return { complete: isComplete(reason), iterations, exitCode, reason }
}
