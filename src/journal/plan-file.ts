import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'

/** The plan of a run, and the version of forkhestra that made it. */
export interface RecordedPlan {
  readonly version: string
  readonly plan: unknown
}

/** A copy: the events are what counts. */
export function writePlan(folder: string, plan: RecordedPlan): void {
  writeFileAtomic(pathIn(folder), `${JSON.stringify(plan)}\n`, { durable: false, mode: 0o600 })
}

/** Undefined where it is not there, or a crash has spoilt it. */
export function readPlanFile(folder: string): RecordedPlan | undefined {
  try {
    return JSON.parse(readFileSync(pathIn(folder), 'utf8')) as RecordedPlan
  } catch {
    return undefined
  }
}

function pathIn(folder: string): string {
  return join(folder, 'plan.json')
}
