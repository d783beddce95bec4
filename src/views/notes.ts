import { printable } from '../base/printable.ts'
import type { RunState } from '../events/state.ts'
import { isComplete, type StepState } from '../events/step-state.ts'
import { isNotStarted, stepWords } from './words.ts'

/** What a person should know of a run although nothing failed. */
export interface Note {
  readonly words: string
  /** A command that helps, and what it is for. */
  readonly next: readonly [command: string, why: string]
}

export function notesOn({ steps }: RunState): Note[] {
  return steps.flatMap((step) => {
    const next = nextAfter(step)
    const words = `${step.number}. ${step.agent}: ${stepWords(step)}`
    return next === undefined ? [] : [{ words: printable(words), next }]
  })
}

/** What helps after a step that is complete, where somebody should look at it. */
function nextAfter(step: StepState): Note['next'] | undefined {
  const { isUnmarked, reason, detail } = step
  const isEmpty = isNotStarted(step) && detail === 'there are no tasks'
  if (isUnmarked === true || isEmpty) return ['forkhestra --chain plan', 'check the plan']
  const isHeld = isComplete(reason) && detail?.endsWith('in progress elsewhere') === true
  return isHeld ? ['forge-tasks list --status in-progress', 'see who holds what'] : undefined
}
