import { counted } from '../base/amounts.ts'
import { printable } from '../base/printable.ts'
import type { RunState } from '../events/state.ts'
import { isComplete, type StepState } from '../events/step-state.ts'
import { isNotStarted, stepWords } from './words.ts'

/** What a person should know of a run although nothing failed. */
export interface Note {
  readonly words: string
  /** Whether the line of its step says it. */
  readonly isOfStep?: boolean
  /** A command that helps, and what it is for. */
  readonly next: readonly [command: string, why: string]
}

export function notesOn({ steps, ended }: RunState): Note[] {
  const notes = steps.flatMap((step) => {
    const next = nextAfter(step)
    const words = `${step.number}. ${step.agent}: ${stepWords(step)}`
    return next === undefined ? [] : [{ words: printable(words), next, isOfStep: true }]
  })
  const files = ended?.uncommitted
  if (files === undefined) return notes
  const words = `uncommitted changes in ${counted(files, 'file')}`
  return [...notes, { words, next: ['git status', 'review them before you commit'] }]
}

/** What helps after a step that is complete, where somebody should look at it. */
function nextAfter(step: StepState): Note['next'] | undefined {
  const { isUnmarked, reason, detail } = step
  const isEmpty = isNotStarted(step) && detail === 'there are no tasks'
  if (isUnmarked === true || isEmpty) return ['forkhestra --chain plan', 'check the plan']
  const isHeld = isComplete(reason) && detail?.endsWith('in progress elsewhere') === true
  return isHeld ? ['forge-tasks list --status in-progress', 'see who holds what'] : undefined
}
