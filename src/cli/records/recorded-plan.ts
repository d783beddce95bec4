import { readPlan } from '../../journal/read-run.ts'
import { stepsOf, type Plan, type StepNode } from '../../plan/plan.ts'

/** The plan of a recorded run; undefined where it is not one of this version's. */
export function readRecordedPlan(folder: string): Plan | undefined {
  const plan = readPlan(folder)?.plan as Plan | undefined
  return plan?.root?.of === undefined ? undefined : plan
}

/** All steps of a plan, recoveries included. */
export function allSteps(plan: Plan): StepNode[] {
  return [...stepsOf(plan.root), ...(plan.recoveries ?? [])]
}

/** Numbers of the steps whose agents tell what they do, so that nobody is shown their stdout. */
export function structuredSteps(folder: string): Set<number> {
  const plan = readRecordedPlan(folder)
  const steps = plan === undefined ? [] : allSteps(plan)
  return new Set(
    steps
      .filter(({ agent }) => agent !== undefined && agent.engine !== 'binary')
      .map(({ number }) => number),
  )
}
