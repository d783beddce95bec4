import { counted } from '../base/amounts.ts'
import { printable } from '../base/terminal/printable.ts'
import type { RunState } from '../records/events/state.ts'
import { isComplete, type StepState } from '../records/events/step-state.ts'
import { isNotStarted, describeStep } from './describe.ts'

/** A command that may be useful next, and what it is for. */
export type Next = readonly [command: string, why: string]

/** What the user should know about a run although nothing failed. */
interface Note {
  readonly words: string
  /** Whether the line of its step already says it. */
  readonly isOfStep?: boolean
  readonly next: Next
}

export function notesOn({ steps, ended }: RunState): Note[] {
  const notes = steps.flatMap((step) => {
    const next = nextAfter(step)
    const words = `${step.number}. ${step.agent}: ${describeStep(step)}`
    return next === undefined ? [] : [{ words: printable(words), next, isOfStep: true }]
  })
  const files = ended?.uncommitted
  if (files === undefined) return notes
  const words = `uncommitted changes in ${counted(files, 'file')}`
  return [...notes, { words, next: ['git status', 'review them before you commit'] }]
}

/** The next command after a complete step that needs attention. */
function nextAfter(step: StepState): Next | undefined {
  const { isUnmarked, reason, detail } = step
  const isEmpty = isNotStarted(step) && detail === 'there are no tasks'
  if (isUnmarked === true || isEmpty) return ['forkhestra --chain plan', 'check the plan']
  const isHeld = isComplete(reason) && detail?.endsWith('in progress elsewhere') === true
  return isHeld ? ['forge-tasks list --status in-progress', 'see who holds what'] : undefined
}
