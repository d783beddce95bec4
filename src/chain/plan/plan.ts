import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import type { QueueLimits } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import type { PromptCandidate } from '../prompts/choose.ts'
import type { Budget, Hooks, Policy } from './policy.ts'

/** Everything a run will do, decided before its first process: plain data, printable, resumable. */
export interface Plan {
  readonly run: string
  readonly cwd: string
  readonly chain?: string
  /** Set for a chat: its iterations are turns, its rounds are sessions. */
  readonly isChat?: true
  readonly root: SequenceNode
  /** Agents that run once after a failed step; numbered after the steps. */
  readonly recoveries: readonly StepNode[]
  /** The budget of the whole run. */
  readonly budget: Budget
  readonly when?: string
  readonly hooks: Hooks
  /** Limits of queues and inboxes, if configured. */
  readonly queueLimits?: QueueLimits
  /** The configuration that it was made from, to detect changes on resume. */
  readonly configuration?: {
    readonly file: string
    readonly hash: string
    /** Absent if it is very long. */
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
  /** Counted from 1. */
  readonly number: number
  readonly name?: string
  readonly agent: ResolvedAgent
  /** Working directory of the agent. */
  readonly cwd: string
  /** Most iterations; absent if the agent runs once. */
  readonly loop?: number
  readonly args: readonly Template[]
  readonly prompt: readonly PromptCandidate[]
  /** Whether the prompt is plain text, without commands. */
  readonly rawPrompt?: boolean
  /** What /read may read, if configured. */
  readonly reading?: Reading
  /** Whether the chain continues after its end without a marker if there are open tasks. */
  readonly goesOnWithTasks?: boolean
  readonly policy: Policy
  /** For a sub-agent: the budget of one attempt, besides those of step and run. */
  readonly taskBudget?: Budget
  /** For a sub-agent: the rights of its parent, which it must not exceed. */
  readonly rights?: Rights
}

/** What a direct agent may do. */
export type Rights = Pick<
  DirectAgent,
  'name' | 'allowedTools' | 'disallowedTools' | 'permissionMode' | 'queue'
>

interface Reading {
  /** The largest file. */
  readonly limitBytes?: number
  /** Absolute paths of folders besides the working directory. */
  readonly roots?: readonly string[]
}

/** The steps of a plan in the order of their numbers. */
export function stepsOf(node: Node): StepNode[] {
  return node.kind === 'step' ? [node] : node.of.flatMap(stepsOf)
}

/** The variables that `${…}` can always refer to. */
export function builtInVariables(
  run: string,
  step: { readonly number: number; readonly loop?: number | undefined },
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
