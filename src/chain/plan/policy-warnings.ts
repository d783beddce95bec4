import { changesCode } from './agent-role.ts'
import type { Overrides } from './make-policy.ts'
import { stepsOf, type Plan } from './plan.ts'
import type { Budget, Policy } from './policy.ts'

/** Warnings about gates that apply to fewer, or more, steps than expected. */
export function gateWarnings(
  { root }: Plan,
  chain: { readonly verify?: unknown },
  { verify, until }: Overrides,
): string[] {
  const steps = stepsOf(root)
  const isGated = steps.some(({ agent }) => changesCode(agent))
  const given = [...(verify === undefined ? [] : ['--verify']), ...(until ? ['--until'] : [])]
  const spared = isGated ? steps.filter(({ agent }) => !changesCode(agent)) : []
  const inherits = chain.verify === undefined ? [] : spared.filter(({ policy }) => isFrom(policy))
  return [
    ...(isGated ? [] : given.map((name) => `${name} has no effect: no step changes code`)),
    ...inherits.map(
      ({ number, agent }) =>
        `"verify" of the chain also applies to step ${number} (${agent.name}), which does not change code; put it on the steps that do`,
    ),
  ]

  function isFrom(policy: Policy): boolean {
    const commands = typeof chain.verify === 'string' ? [chain.verify] : chain.verify
    return JSON.stringify(policy.verify) === JSON.stringify(commands)
  }
}

/** Warnings about limits with less effect than expected. */
export function policyWarnings(plan: Plan, isInRepository: boolean): string[] {
  const steps = [...stepsOf(plan.root), ...plan.recoveries]
  const silent = steps.filter(
    ({ agent, policy }) =>
      agent.engine === 'binary' && [plan.budget, policy.budget].some(limitsUsage),
  )
  const names = [...new Set(silent.map(({ agent }) => `'${agent.name}'`))]
  const isBlind =
    !isInRepository && steps.some(({ loop, policy }) => loop !== undefined && policy.stall > 0)
  return [
    ...(names.length === 0
      ? []
      : [`budgets cannot see ${names.join(', ')}: plain programs do not report usage`]),
    ...(isBlind
      ? [
          `${plan.cwd} is not in a git repository: "stall" sees only tasks, gates and outcomes as progress`,
        ]
      : []),
  ]
}

function limitsUsage({ costUsd, tokens }: Budget): boolean {
  return costUsd !== undefined || tokens !== undefined
}
