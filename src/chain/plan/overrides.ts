import { dropUndefined } from '../../base/drop-undefined.ts'
import type { ChainPolicyConfig } from '../parse/policy-schema.ts'
import { changesCode } from './agent-role.ts'
import { limit, listOf, makeBudget, readLimit } from './make-policy.ts'
import type { Node, Plan, StepNode } from './plan.ts'
import type { Budget } from './policy.ts'

/** Options of the command line: limits for every step, gates for steps that change code, a budget for the run. */
export interface Overrides {
  readonly budget?: Budget
  readonly timeoutMs?: number | 'off'
  readonly idleMs?: number | 'off'
  readonly stall?: number
  readonly verify?: readonly string[]
  readonly until?: string
}

/** The fields of a chain that a resume may change. */
export type OverrideConfig = Pick<
  ChainPolicyConfig,
  | 'maxCostUsd'
  | 'maxTokens'
  | 'maxDuration'
  | 'timeout'
  | 'idleTimeout'
  | 'stall'
  | 'verify'
  | 'until'
>

export function makeOverrides(config: OverrideConfig): Overrides {
  const { timeout, idleTimeout, stall, verify, until } = config
  return dropUndefined({
    budget: makeBudget(config),
    timeoutMs: readLimit('timeout', timeout),
    idleMs: readLimit('idleTimeout', idleTimeout),
    stall,
    verify: listOf(verify),
    until,
  })
}

/** Applies the options of the command line. Recovery agents get the limits, but not the gates. */
export function applyOverrides(plan: Plan, overrides: Overrides): Plan {
  const { budget, verify: _, until: __, ...limits } = overrides
  return {
    ...plan,
    root: mapSteps(plan.root, (step) => withOverrides(step, overrides)),
    recoveries: plan.recoveries.map((step) => withOverrides(step, limits)),
    budget: { ...plan.budget, ...budget },
  }
}

/** Removes the budgets of steps that would prevent them from using the new budget of the run. */
export function raiseBudgets(plan: Plan, budget: Budget): Plan {
  const raise = (step: StepNode): StepNode => {
    const left = Object.entries(step.policy.budget).filter(([kind]) => !(kind in budget))
    return { ...step, policy: { ...step.policy, budget: Object.fromEntries(left) } }
  }
  return { ...plan, root: mapSteps(plan.root, raise), recoveries: plan.recoveries.map(raise) }
}

function mapSteps<Of extends Node>(node: Of, change: (step: StepNode) => StepNode): Of
function mapSteps(node: Node, change: (step: StepNode) => StepNode): Node {
  if (node.kind === 'step') return change(node)
  return { ...node, of: node.of.map((part) => mapSteps(part, change)) }
}

function withOverrides(step: StepNode, overrides: Overrides): StepNode {
  const { budget: _, timeoutMs, idleMs, verify, until, ...rest } = overrides
  const { timeoutMs: oldTimeoutMs, idleMs: oldIdleMs, ...policy } = step.policy
  return {
    ...step,
    policy: {
      ...policy,
      ...limit('timeoutMs', timeoutMs ?? oldTimeoutMs),
      ...limit('idleMs', idleMs ?? oldIdleMs),
      ...rest,
      ...(changesCode(step.agent) ? dropUndefined({ verify, until }) : {}),
    },
  }
}
