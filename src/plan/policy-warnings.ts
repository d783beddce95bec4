import { stepsOf, type Plan } from './plan.ts'
import type { Budget } from './policy.ts'

/** What a person should know of limits that hold less than they seem to. */
export function policyWarnings(plan: Plan, isInRepository: boolean): string[] {
  const steps = [...stepsOf(plan.root), ...plan.recoveries]
  const silent = steps.filter(
    ({ agent, policy }) =>
      agent.engine === 'binary' && [plan.budget, policy.budget].some(countsWhatAgentsTell),
  )
  const names = [...new Set(silent.map(({ agent }) => `'${agent.name}'`))]
  const isBlind =
    !isInRepository && steps.some(({ loop, policy }) => loop !== undefined && policy.stall > 0)
  return [
    ...(names.length === 0
      ? []
      : [`Limits of cost and tokens do not count ${names.join(', ')}: programs tell no cost.`]),
    ...(isBlind
      ? [
          `${plan.cwd} is in no git repository: for "stall" only tasks, gates and outcomes are progress.`,
        ]
      : []),
  ]
}

function countsWhatAgentsTell({ costUsd, tokens }: Budget): boolean {
  return costUsd !== undefined || tokens !== undefined
}
