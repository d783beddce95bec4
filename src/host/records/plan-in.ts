import { tryOr } from '../../base/errors.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { readPlan } from '../../records/journal/read-run.ts'

/** The plan of a record without any check; empty if it is missing. */
export function planIn(record: string): Partial<Plan> {
  return tryOr({}, () => readPlan(record)?.plan ?? {})
}

export function isChat(record: string): boolean {
  return planIn(record).isChat === true
}
