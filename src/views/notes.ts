import { counted } from '../base/amounts.ts'
import type { RunState } from '../records/events/state.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { describeCopies, groupByStep } from './copies.ts'
import { isNotStarted } from './describe.ts'

/** A command that may be useful next, and what it is for. */
export type NextStep = readonly [command: string, why: string]

/** What the user should know about a run although nothing failed. */
interface Note {
  readonly words: string
  /** Whether the line of its step already says so. */
  readonly isOfStep?: boolean
  readonly next: NextStep
}

export function notesOn({ steps, ended }: RunState): Note[] {
  const notes = groupByStep(steps).flatMap((copies) => {
    const step = copies.find((each) => nextAfter(each, steps) !== undefined)
    if (step === undefined) return []
    const words = `${step.number}. ${step.agent}: ${describeCopies(copies)}`
    return [{ words, next: nextAfter(step, steps)!, isOfStep: true }]
  })
  const files = ended?.uncommitted
  if (files === undefined) return notes
  const words = `uncommitted changes in ${counted(files, 'file')}`
  return [...notes, { words, next: ['git status', 'review uncommitted changes before you commit'] }]
}

/** The next command after a complete step that needs attention. */
function nextAfter(step: StepState, steps: readonly StepState[]): NextStep | undefined {
  const { isUnmarked, reason, cause } = step
  const isEmpty = isNotStarted(step) && cause === 'no_tasks'
  // The chain `plan` needs specs; other planning agents work from a prompt.
  const hasPlanner = steps.some(({ agent }) => /^(?:fk:)?planner$/.test(agent))
  if (isUnmarked === true || isEmpty)
    return hasPlanner
      ? ['forkhestra --chain plan', 'check the plan']
      : ['forge-tasks list', 'check the tasks']
  return isComplete(reason) && cause === 'tasks_held'
    ? ['forge-tasks list --status in-progress', 'see who holds what']
    : undefined
}
