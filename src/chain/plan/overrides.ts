import { dropUndefined } from '../../base/objects.ts'
import type { ChainPolicyConfig } from '../parse/policy-schema.ts'
import { changesCode } from './agent-role.ts'
import { withMergeGates } from './branches.ts'
import { limit, listOf, makeBudget, readLimit } from './make-policy.ts'
import { makeNotify, type NotifyTarget } from './notify.ts'
import { mapSteps, type Node, type Plan, type StepNode } from './plan.ts'
import type { Budget } from './policy.ts'

/** Options of the command line: limits for every step, gates for steps that change code, a budget for the run. */
export interface Overrides {
  readonly budget?: Budget
  readonly timeoutMs?: number | 'off'
  readonly idleMs?: number | 'off'
  readonly stall?: number
  readonly verify?: readonly string[]
  readonly until?: string
  readonly maxParallel?: number
  readonly notify?: readonly NotifyTarget[]
}

/** Fields of a chain that a resume may change. */
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
  | 'maxParallel'
  | 'notify'
>

export function makeOverrides(config: OverrideConfig): Overrides {
  const { timeout, idleTimeout, stall, verify, until, maxParallel, notify } = config
  return dropUndefined({
    budget: makeBudget(config),
    timeoutMs: readLimit('timeout', timeout),
    idleMs: readLimit('idleTimeout', idleTimeout),
    stall,
    verify: listOf(verify),
    until,
    maxParallel,
    notify: makeNotify(notify),
  })
}

/** Applies the options of the command line. Recovery agents get the limits, but not the gates. */
export function applyOverrides(plan: Plan, overrides: Overrides): Plan {
  const { budget, maxParallel, notify, ...ofSteps } = overrides
  const { verify: _, until: __, ...limits } = ofSteps
  return {
    ...plan,
    root: withMergeGates(mapSteps(plan.root, (step) => withOverrides(step, ofSteps))),
    recoveries: plan.recoveries.map((step) => withOverrides(step, limits)),
    budget: { ...plan.budget, ...budget },
    ...dropUndefined({ maxParallel, notify }),
  }
}

/** Removes the budgets of steps and groups that would prevent them from using the new budget of the run. */
export function raiseBudgets(plan: Plan, budget: Budget): Plan {
  const raise = <Of extends Node>(node: Of): Of => {
    if (node.policy === undefined) return node
    const left = Object.entries(node.policy.budget).filter(([kind]) => !(kind in budget))
    return { ...node, policy: { ...node.policy, budget: Object.fromEntries(left) } }
  }
  const raiseAll = (node: Node): Node =>
    raise(node.kind === 'step' ? node : { ...node, of: node.of.map(raiseAll) })
  const of = plan.root.of.map(raiseAll)
  return { ...plan, root: { ...plan.root, of }, recoveries: plan.recoveries.map(raise) }
}

function withOverrides(
  step: StepNode,
  overrides: Omit<Overrides, 'budget' | 'maxParallel' | 'notify'>,
): StepNode {
  const { timeoutMs, idleMs, verify, until, ...rest } = overrides
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
