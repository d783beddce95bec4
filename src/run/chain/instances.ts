import type { Reason } from '../../records/events/schema.ts'
import { groupAt, stepAt, type RunState } from '../../records/events/state.ts'
import { isSettled } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import type { GroupNode, Node, StepNode } from '../../chain/plan/plan.ts'
import { scopeOf } from '../place.ts'

/** A group, or one copy of it, at its place in the run. */
export interface GroupInstance extends GroupNode {
  readonly within: readonly string[]
  readonly copy?: number
}

/** A step, or one copy of it, at its place in the run. */
interface StepInstance extends StepNode {
  readonly within: readonly string[]
}

export type Instance = StepInstance | GroupInstance

/** The copies of a node, or just the node if it has none; `within` is the scope of its group. */
export function instancesOf(node: StepNode, within: readonly string[]): StepInstance[]
export function instancesOf(node: Node, within: readonly string[]): Instance[]
export function instancesOf(node: Node, within: readonly string[]): Instance[] {
  if (node.copies === undefined) return [{ ...node, within }]
  return Array.from({ length: node.copies }, (_, index) => ({ ...node, within, copy: index + 1 }))
}

export function groupState(state: RunState, group: GroupInstance) {
  return groupAt(state, keyOfScope(scopeOf(group, 1)))!
}

export function stateOf(state: RunState, instance: Instance) {
  return instance.kind === 'step' ? stepAt(state, instance) : groupState(state, instance)
}

/** All instances of the steps of a node in their current rounds. */
export function stepInstances(node: Node, within: readonly string[], state: RunState): StepNode[] {
  return instancesOf(node, within).flatMap((instance) => stepsIn(instance, state))
}

/** The step, or all instances of the steps of one copy of a group. */
export function stepsIn(instance: Instance, state: RunState): StepNode[] {
  if (instance.kind === 'step') return [instance]
  const scope = scopeOf(instance, groupState(state, instance).round)
  return instance.of.flatMap((part) => stepInstances(part, scope, state))
}

/** How an item of a list ended, including all its copies. */
export interface ItemEnd {
  readonly reason?: Reason | undefined
  readonly detail?: string | undefined
  readonly isSettled: boolean
  /** How many times it has sent its list back. */
  readonly jumps: number
  /** How many of its ends have to be handled. */
  readonly closings: number
}

/** The end of an item; without a reason if a copy is unfinished, or nothing has begun. */
export function endOf(item: Node, within: readonly string[], state: RunState): ItemEnd {
  const all = instancesOf(item, within).map((instance) => stateOf(state, instance))
  const sum = (count: 'jumps' | 'closings') => all.reduce((total, each) => total + each[count], 0)
  const counts = { jumps: sum('jumps'), closings: sum('closings') }
  const open = all.filter((each) => !isSettled(each))
  const last = decisiveEnd(open) ?? all.at(-1)!
  if (open.some((each) => each.reason === undefined)) return { isSettled: false, ...counts }
  return { reason: last.reason, detail: last.detail, isSettled: open.length === 0, ...counts }
}

/** Reasons after which a group starts another round. */
const REPEATED: readonly (Reason | undefined)[] = [
  'max_iterations',
  'agent_failed',
  'gate_failed',
  'timeout',
  'conflict',
]

export function isRepeated(reason: Reason | undefined): boolean {
  return REPEATED.includes(reason)
}

/** The end that counts among several in parallel: those that another round cannot change come first. */
export function decisiveEnd<End extends { readonly reason?: Reason | undefined }>(
  ends: readonly End[],
): End | undefined {
  const failed = ends.filter(({ reason }) => reason !== 'cancelled')
  return failed.find(({ reason }) => !isRepeated(reason)) ?? failed.at(-1) ?? ends.at(-1)
}

/** The display name of a step or group, with the number of its copy. */
export function nameOf(node: Node & { readonly copy?: number }): string {
  const name = node.name ?? (node.kind === 'step' ? node.agent.name : `group ${node.id}`)
  return node.copy === undefined ? name : `${name}#${node.copy}`
}
