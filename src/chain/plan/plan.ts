import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import type { QueueLimitsConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import type { PromptCandidate } from '../prompts/choose.ts'
import type { NotifyTarget } from './notify.ts'
import type { Budget, GroupPolicy, Hooks, Policy } from './policy.ts'

/** Everything a run will do, decided before its first process: plain data, printable, resumable. */
export interface Plan {
  readonly run: string
  readonly cwd: string
  readonly chain?: string
  /** Set for a chat: its iterations are turns, its rounds are sessions. */
  readonly isChat?: true
  readonly root: GroupNode
  /** Agents that run once after a failed step; numbered after the steps. */
  readonly recoveries: readonly StepNode[]
  /** The budget of the whole run. */
  readonly budget: Budget
  readonly when?: string
  readonly hooks: Hooks
  /** Who is notified; the record does not contain the URLs of webhooks. */
  readonly notify?: readonly NotifyTarget[]
  /** How many agents may run at once, without sub-agents; absent if none run in parallel. */
  readonly maxParallel?: number
  readonly queueLimits?: QueueLimitsConfig
  /** The configuration that it was made from, to detect changes on resume. */
  readonly configuration?: {
    readonly file: string
    readonly hash: string
    /** Absent if it is very long. */
    readonly text?: string
  }
}

export const DEFAULT_PARALLEL = 4

export type Node = StepNode | GroupNode

/** Settings of something that runs in parallel with others: a copy, or an item of a parallel group. */
export interface BranchPlan {
  /** In the folder of the others, or in its own worktree, which is merged at the end. */
  readonly isolation: 'shared' | 'worktree'
  /** Runs once in every new worktree. */
  readonly setup?: string
  /** Paths that every new worktree gets from the project. */
  readonly copy?: readonly string[]
  /** Whether its commits are copied onto the target branch, or merged. */
  readonly merge: 'rebase' | 'merge'
  /** Commands that must succeed on the merged result. */
  readonly verify: readonly string[]
  /** Whether the other copies are cancelled if one does not complete. */
  readonly failFast?: boolean
}

/** Steps and groups that run one after another, in parallel, or until one of them completes. */
export interface GroupNode {
  readonly kind: 'sequence' | 'parallel' | 'fallback'
  readonly id: string
  readonly name?: string
  readonly of: readonly Node[]
  /** Maximum number of rounds; absent if it runs once. */
  readonly rounds?: number
  /** How many copies run in parallel. */
  readonly copies?: number
  /** Set if it, or each of its copies, is a branch; on the root, if the whole chain is one. */
  readonly branch?: BranchPlan
  /** Absent for the chain as a whole. */
  readonly policy?: GroupPolicy
}

export interface StepNode {
  readonly kind: 'step'
  /** Stable name of the step, part of every event's scope. */
  readonly id: string
  /** Counted from 1. */
  readonly number: number
  readonly name?: string
  readonly agent: ResolvedAgent
  /** Working directory of the agent. */
  readonly cwd: string
  /** Maximum number of iterations; absent if the agent runs once. */
  readonly loop?: number
  /** How many copies run in parallel. */
  readonly copies?: number
  /** Set if it, or each of its copies, is a branch. */
  readonly branch?: BranchPlan
  /** For an instance of the step in a run: the scope of its group, and which copy it is. */
  readonly within?: readonly string[]
  readonly copy?: number
  readonly args: readonly Template[]
  readonly prompt: readonly PromptCandidate[]
  /** Whether the prompt is plain text, without commands. */
  readonly rawPrompt?: boolean
  /** What /read may read, if configured. */
  readonly reading?: Reading
  /** Whether the chain continues if the step ends without a marker but there are open tasks. */
  readonly goesOnWithTasks?: boolean
  readonly policy: Policy
  /** For a sub-agent: the budget of one attempt, besides those of step and run. */
  readonly taskBudget?: Budget
  /** For a sub-agent: the rights of its parent, which it must not exceed. */
  readonly rights?: Rights
}

/** An empty chain to start from. */
export const NO_STEPS: GroupNode = { kind: 'sequence', id: 'root', of: [] }

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

export function mapSteps<Of extends Node>(node: Of, change: (step: StepNode) => StepNode): Of
export function mapSteps(node: Node, change: (step: StepNode) => StepNode): Node {
  if (node.kind === 'step') return change(node)
  return { ...node, of: node.of.map((part) => mapSteps(part, change)) }
}

export function groupsOf({ of }: GroupNode): GroupNode[] {
  return of.flatMap((node) => (node.kind === 'step' ? [] : [node, ...groupsOf(node)]))
}

/** The parts of a chain that are branches, or whose copies are. */
export function branchesIn(node: Node): Node[] {
  const inside = node.kind === 'step' ? [] : node.of.flatMap(branchesIn)
  return node.branch === undefined ? inside : [node, ...inside]
}

export function groupPolicy({ root }: Plan, id: string): GroupPolicy | undefined {
  return groupsOf(root).find((group) => group.id === id)?.policy
}

/** The steps that complete a node by completing; none if its last items run in parallel. */
export function lastSteps(node: Node): readonly number[] {
  if (node.kind === 'step') return [node.number]
  if (node.kind === 'parallel') return []
  const last = node.kind === 'fallback' ? node.of : node.of.slice(-1)
  return last.flatMap((item) => (item.copies === undefined ? lastSteps(item) : []))
}

export function firstStep(node: Node): number {
  return node.kind === 'step' ? node.number : firstStep(node.of[0]!)
}

export function lastStep(node: Node): number {
  return node.kind === 'step' ? node.number : lastStep(node.of.at(-1)!)
}

/** The variables that `${…}` can always refer to. */
export function builtInVariables(
  plan: Pick<Plan, 'run' | 'root'>,
  step: StepPlace,
  iteration: number,
): Map<string, string> {
  const { copy, copies } = nearestCopy(plan, step)
  return new Map([
    ['RUN_ID', plan.run],
    ['STEP', String(step.number)],
    ['ITERATION', String(iteration)],
    ['MAX_ITERATIONS', String(step.loop ?? 1)],
    ['COPY', String(copy)],
    ['COPIES', String(copies)],
  ])
}

export const BUILT_IN_VARIABLES = [
  'RUN_ID',
  'STEP',
  'ITERATION',
  'MAX_ITERATIONS',
  'COPY',
  'COPIES',
]

type StepPlace = Pick<StepNode, 'number' | 'loop' | 'copies' | 'copy' | 'within'>

/** Which copy a step is (or else the innermost enclosing group with copies), and how many there are. */
function nearestCopy({ root }: Pick<Plan, 'root'>, { copy, copies, within = [] }: StepPlace) {
  if (copy !== undefined) return { copy, copies: copies ?? copy }
  const at = within.findLastIndex((part) => /^c\d+$/.test(part))
  if (at < 1) return { copy: 1, copies: copies ?? 1 }
  const number = Number(within[at]!.slice(1))
  const group = groupsOf(root).find(({ id }) => id === within[at - 1])
  return { copy: number, copies: group?.copies ?? number }
}
