import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import { readTextIn } from './inside.ts'

const PLAN = 'plan.json'

/** The plan of a run, and the version of forkhestra that made it. */
export interface RecordedPlan {
  readonly version: string
  readonly plan: unknown
}

/** Writes a copy for quick access; the events are authoritative. */
export function writePlan(folder: string, plan: RecordedPlan): void {
  writeFileAtomic(join(folder, PLAN), `${JSON.stringify(plan)}\n`, { durable: false, mode: 0o600 })
}

/** Undefined if the file is missing or damaged. */
export function readPlanFile(folder: string): RecordedPlan | undefined {
  try {
    return parseJson(readTextIn(folder, PLAN)) as RecordedPlan
  } catch {
    return undefined
  }
}
