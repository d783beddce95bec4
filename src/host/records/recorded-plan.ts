import { basename } from 'node:path'
import { NotNow } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import { readPlan } from '../../records/journal/read-run.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { parsePlan } from '../../chain/plan/plan-schema.ts'
import { allSteps } from '../plan-texts.ts'
import { VERSION } from '../version.ts'

/** The plan of a recorded run; undefined if it has none, or one of an incompatible version. */
export function readRecordedPlan(folder: string): Plan | undefined {
  const found = readPlan(folder)
  if (found === undefined) return undefined
  const parsed = parsePlan(found.plan)
  if ('plan' in parsed) return parsed.plan
  if (typeof found.version === 'string' && found.version !== VERSION) return undefined
  throw new DamagedPlan(folder, parsed.wrong)
}

/** Another program has changed the plan of a record. */
export class DamagedPlan extends NotNow {
  constructor(folder: string, wrong: string) {
    const id = basename(folder)
    super(
      `The plan of run ${id} is damaged: '${printable(wrong)}' has a wrong or missing value.`,
      `Restore ${folder}/plan.json from a backup, or start the run again.`,
    )
  }
}

/** Numbers of the steps with structured agents, whose raw stdout is not shown. */
export function structuredSteps(folder: string): Set<number> {
  const plan = readRecordedPlan(folder)
  const steps = plan === undefined ? [] : allSteps(plan)
  return new Set(steps.filter(({ agent }) => agent.engine !== 'binary').map(({ number }) => number))
}
