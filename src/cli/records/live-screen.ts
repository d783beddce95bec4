import { hasColour } from '../../base/terminal/colour.ts'
import * as ask from '../../host/records/ask-run.ts'
import type { ProjectRecords } from '../../host/records/place.ts'
import { readRecordedPlan } from '../../host/records/recorded-plan.ts'
import { allSteps } from '../../host/plan-texts.ts'
import { RecordReader } from '../../views/live/record-reader.ts'
import { LiveSession, type PlanFacts } from '../../views/live/session.ts'

/** The live screen of a run, with what its keys do. */
export function openLiveScreen(
  id: string,
  folder: string,
  places: ProjectRecords,
  interrupt?: () => void,
): LiveSession {
  return new LiveSession({
    id,
    reader: new RecordReader(folder),
    hasColour: hasColour(1),
    readPlan: () => readPlanFacts(folder),
    ask(action) {
      if (action === 'retry_now') {
        ask.retryNow(places, id)
        return 'Wait cancelled, retrying.'
      }
      ask.stopRun(places, id, action === 'stop_now')
      return action === 'stop'
        ? 'The run will stop after this iteration.'
        : 'The run is being stopped.'
    },
    ...(interrupt === undefined ? {} : { interrupt }),
  })
}

function readPlanFacts(folder: string): PlanFacts {
  const plan = readRecordedPlan(folder)
  if (plan === undefined) return { structured: new Set(), limits: {} }
  const structured = allSteps(plan).filter(({ agent }) => agent.engine !== 'binary')
  return { structured: new Set(structured.map(({ number }) => number)), limits: plan.budget }
}
