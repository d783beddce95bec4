import { dropUndefined } from '../base/objects.ts'
import { UserError } from '../base/errors.ts'
import { checkChain } from '../chain/parse/chains-file.ts'
import type { AgentConfig, ChainConfig } from '../chain/parse/chains-schema.ts'
import { MAX_ITERATIONS } from '../chain/parse/chain-text.ts'
import { expandChain } from '../chain/parse/items.ts'
import type { ChainPolicyConfig } from '../chain/parse/policy-schema.ts'
import type { Grace } from '../chain/plan/policy.ts'
import { readFacts } from '../host/facts.ts'
import { checkDepth, makeIdentity } from '../host/identity.ts'
import { agentEnvironment } from '../host/own-folder.ts'
import { planRun } from '../host/plan-run.ts'
import { resolveCwd } from '../host/project.ts'
import type { ReadyRun } from '../host/run-session.ts'
import { startInWorkingTree } from '../host/working-tree.ts'
import type { Reason } from '../records/events/schema.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import { isDone, itemsOf, type RunState } from '../records/events/state.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { runReady, makeFrontEnd, withStopSignals, type SessionOptions } from './session.ts'
import {
  stepsIn,
  toChain,
  toChainConfigs,
  toItemConfig,
  type Chain,
  type ChainItem,
  type Steps,
} from './steps.ts'

interface ExecuteOptions extends SessionOptions {
  readonly cwd?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly grace?: Grace | undefined
  /** Treats prompts as plain text, without commands: for text from elsewhere. */
  readonly rawPrompt?: boolean | undefined
  /** Keeps a record, which gives agents queues and makes the run resumable. */
  readonly record?: boolean | undefined
  /** Starts a recorded run even if another run uses the same working tree. */
  readonly anyway?: boolean | undefined
}

export interface ChainOptions extends ExecuteOptions {
  /** Steps, or a chain; prompt and policy of the chain are used unless they are given here. */
  readonly steps: Steps
  readonly cliPrompt?: string | undefined
  readonly cliPromptFile?: string | undefined
  readonly chainPrompt?: string | undefined
  readonly chainPromptFile?: string | undefined
  readonly agentDefaults?: Readonly<Record<string, AgentConfig>> | undefined
  /** The chains that `steps` use by name, as in `config.chains`. */
  readonly chains?: Readonly<Record<string, Chain>> | undefined
  /** Limits, gates and other fields of a chain in the configuration. */
  readonly policy?: Readonly<ChainPolicyConfig> | undefined
  /** The same as `args`. */
  readonly globalArgs?: readonly string[] | undefined
}

export interface RunOptions extends ExecuteOptions {
  readonly agent: string
  readonly maxIterations?: number | undefined
  /** Default: true if `maxIterations` is given. */
  readonly loop?: boolean | undefined
  readonly prompt?: string | undefined
  /** The agent's entry in the configuration. */
  readonly agentConfig?: AgentConfig | undefined
}

/** The options of an agent that is defined only by its configuration. */
export interface DirectRunOptions extends RunOptions {
  readonly cwd: string
}

export interface RunResult {
  readonly complete: boolean
  readonly iterations: number
  /** Of the last agent; null if it did not exit by itself. */
  readonly exitCode: number | null
  readonly reason: Reason
  /** Id and folder of the run, if it was recorded. */
  readonly run?: string
  readonly record?: string
}

export interface ChainResult {
  readonly success: boolean
  /** Id of the run. */
  readonly run: string
  /** The folder of its record, if there is one. */
  readonly record?: string
  readonly steps: readonly { readonly agent: string; readonly result: RunResult }[]
  /** Index of the first step that did not complete. */
  readonly failedAt?: number
}

/** Runs one agent, once or in a loop. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { agent, maxIterations, prompt, agentConfig, ...rest } = options
  const { loop = maxIterations !== undefined } = options
  const result = await executeChain({
    ...rest,
    cliPrompt: prompt,
    steps: [{ agent, iterations: maxIterations ?? 1, loop }],
    agentDefaults: agentConfig === undefined ? undefined : { [agent]: agentConfig },
  })
  const { run: id, record } = result
  return { ...result.steps[0]!.result, ...(record === undefined ? {} : { run: id, record }) }
}

/** Runs a chain of steps, silently unless `verbose`; throws a `UserError` if it cannot start. */
export async function executeChain(options: ChainOptions): Promise<ChainResult> {
  const ready = await prepare(options)
  const { plan } = ready
  const { record = false, anyway = false, killOrphans = false } = options
  return withStopSignals(plan.run, options, async (stopping) => {
    const start = async (begun: ReadyRun) =>
      resultOf(plan.run, await runReady(begun, options, stopping, { isRecorded: record }))
    if (!record) return start(ready)
    return startInWorkingTree(ready, { anyway, killOrphans }, makeFrontEnd(plan.cwd), start)
  })
}

export function resultOf(id: string, state: RunState): ChainResult {
  const { record } = state
  const steps = state.steps.filter(({ isRecovery }) => isRecovery !== true)
  const success = itemsOf(state, '').every((item) => item.isSettled)
  const failedAt = success ? -1 : steps.findIndex((step) => !isDone(state, step))
  return {
    success,
    run: id,
    ...(record === undefined ? {} : { record }),
    steps: steps.map((step) => ({ agent: step.agent, result: stepResult(step) })),
    ...(failedAt === -1 ? {} : { failedAt }),
  }
}

function stepResult({ reason = 'skipped', iterations, lastExitCode }: StepState): RunResult {
  return { complete: isComplete(reason), iterations, exitCode: lastExitCode ?? null, reason }
}

async function prepare(options: ChainOptions): Promise<ReadyRun> {
  const env = agentEnvironment(process.env)
  checkDepth(env['FORKHESTRA_RUN_PATH'])
  const cwd = resolveCwd(options.cwd)
  const { run: id, stamp } = makeIdentity(recordPlaces({ folder: cwd, searched: [cwd] }, env))
  const agents = options.agentDefaults ?? {}
  const request = {
    run: id,
    cwd,
    base: cwd,
    agentBase: cwd,
    chain: chainOf(options),
    agents,
    variables: 'built-in only' as const,
    args: options.args ?? options.globalArgs ?? [],
    cliPrompt: { prompt: options.cliPrompt, promptFile: options.cliPromptFile },
    ...(options.grace === undefined ? {} : { grace: options.grace }),
    rawPrompt: options.rawPrompt === true,
  }
  const { plan, warnings } = await planRun(request, readFacts(env), env)
  return { plan, warnings, session: { env, stamp, agents } }
}

/** The chain in the form of the configuration. */
function chainOf(options: ChainOptions): ChainConfig {
  const { steps: given, prompt: own, promptFile: ownFile, ...rest } = toChain(options.steps)
  const steps = given.map(toItemConfig)
  checkIterations(given)
  const { chainPrompt, chainPromptFile, policy } = options
  // The chain's own text must not override a file given here.
  const isGiven = chainPrompt !== undefined || chainPromptFile !== undefined
  const [prompt, promptFile] = isGiven ? [chainPrompt, chainPromptFile] : [own, ownFile]
  const chain = { ...rest, ...policy, steps, ...dropUndefined({ prompt, promptFile }) }
  checkChain(chain)
  return expandChain(chain, toChainConfigs(options.chains ?? {}))
}

/** Checks what the types cannot express. */
function checkIterations(items: readonly ChainItem[]): void {
  if (items.length === 0) throw new UserError('A chain needs at least one step.')
  for (const { agent, iterations, loop } of stepsIn(items)) {
    const isCount = Number.isInteger(iterations) && iterations >= 1 && iterations <= MAX_ITERATIONS
    if (!loop || isCount) continue
    throw new UserError(
      `"iterations" of '${agent}' is ${iterations}, expected a whole number from 1 to ${MAX_ITERATIONS}.`,
    )
  }
}
