import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'
import { parseJson } from '../base/json.ts'
import { readTextIn } from './inside.ts'

const PLAN = 'plan.json'

/** The plan of a run, and the version of forkhestra that made it. */
export interface RecordedPlan {
  readonly version: string
  readonly plan: unknown
}

/** A copy: the events are what counts. */
export function writePlan(folder: string, plan: RecordedPlan): void {
  writeFileAtomic(join(folder, PLAN), `${JSON.stringify(plan)}\n`, { durable: false, mode: 0o600 })
}

/** Undefined where it is not there, or a crash has spoilt it. */
export function readPlanFile(folder: string): RecordedPlan | undefined {
  try {
    return parseJson(readTextIn(folder, PLAN)) as RecordedPlan
  } catch {
    return undefined
  }
}
