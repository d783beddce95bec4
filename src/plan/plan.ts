import type { DirectAgent, ResolvedAgent } from '../engines/engine.ts'
import type { QueueLimits } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import type { PromptCandidate } from '../prompt/choose.ts'
import type { Budget, Hooks, Policy } from './policy.ts'

/** Everything a run will do, decided before its first process: plain data, printable, resumable. */
export interface Plan {
  readonly run: string
  readonly cwd: string
  readonly chain?: string
  /** Whether a person talks to its only agent; an iteration is a turn then, a round a session. */
  readonly isChat?: true
  readonly root: SequenceNode
  /** Agents that run once where a step failed; numbered behind the steps. */
  readonly recoveries: readonly StepNode[]
  /** What holds for the chain as a whole. */
  readonly budget: Budget
  readonly when?: string
  readonly hooks: Hooks
  /** Where the configuration says what queues and inboxes may not exceed. */
  readonly queueLimits?: QueueLimits
  /** The configuration it was made from, to see whether it has changed since, and what. */
  readonly configuration?: {
    readonly file: string
    readonly hash: string
    /** Absent where it is very long. */
    readonly text?: string
  }
}

export type Node = StepNode | SequenceNode

interface SequenceNode {
  readonly kind: 'sequence'
  readonly id: string
  readonly of: readonly Node[]
}

export interface StepNode {
  readonly kind: 'step'
  /** Stable name of the place, part of every event's scope. */
  readonly id: string
  /** What people count: 1, 2, 3. */
  readonly number: number
  /** What people call it, where they gave it a name. */
  readonly name?: string
  readonly agent: ResolvedAgent
  /** Working directory of the agent. */
  readonly cwd: string
  /** Most iterations; absent where the agent runs once. */
  readonly loop?: number
  readonly args: readonly Template[]
  readonly prompt: readonly PromptCandidate[]
  /** Whether nothing in the prompt is a command. */
  readonly rawPrompt?: boolean
  /** What its prompt may let it read, where the configuration says so. */
  readonly reading?: Reading
  /** Whether its end without a marker does not stop the chain where there are tasks to do. */
  readonly goesOnWithTasks?: boolean
  readonly policy: Policy
  /** Of a sub-agent: what one attempt at its task may take beside the budgets of the step. */
  readonly taskBudget?: Budget
  /** Of a sub-agent: what its parent may do, and so at most it and all below it. */
  readonly rights?: Rights
}

/** What an agent without a program of its own may do. */
export type Rights = Pick<
  DirectAgent,
  'name' | 'allowedTools' | 'disallowedTools' | 'permissionMode' | 'queue'
>

interface Reading {
  /** How long a file may be. */
  readonly limitBytes?: number
  /** Absolute paths of further folders beside the working directory. */
  readonly roots?: readonly string[]
}

/** The steps of a plan in the order in which they are numbered. */
export function stepsOf(node: Node): StepNode[] {
  return node.kind === 'step' ? [node] : node.of.flatMap(stepsOf)
}

/** What `${…}` can always refer to. */
export function builtInVariables(
  run: string,
  step: Pick<StepNode, 'number' | 'loop'>,
  iteration: number,
): Map<string, string> {
  return new Map([
    ['RUN_ID', run],
    ['STEP', String(step.number)],
    ['ITERATION', String(iteration)],
    ['MAX_ITERATIONS', String(step.loop ?? 1)],
  ])
}

export const BUILT_IN_VARIABLES = ['RUN_ID', 'STEP', 'ITERATION', 'MAX_ITERATIONS']
