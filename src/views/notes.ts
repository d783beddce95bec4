import { printable } from '../base/printable.ts'
import type { RunState } from '../events/state.ts'
import type { StepState } from '../events/step-state.ts'

/** What a person should know although nothing failed. */
export interface Note {
  readonly words: string
  /** A command that helps, and what it is for. */
  readonly next: readonly [command: string, why: string]
}

/** What is to be known of a step that is complete. */
export function noteOn({
  isUnmarked,
  iterations,
  maxIterations,
  detail,
}: StepState): Note | undefined {
  if (isUnmarked === true)
    return {
      words: `${iterations}/${maxIterations} iterations without the marker; continued because ${detail}`,
      next: ['forkhestra --chain plan', 'check the plan'],
    }
  return undefined
}

/** The same of all steps of a run. */
export function notesOn({ steps }: RunState): Note[] {
  return steps.flatMap((step) => noteOn(step) ?? [])
}

/** `1. planner: 3/3 iterations without the marker; …`. */
export function noteLines({ steps }: RunState): string[] {
  return steps.flatMap((step) => {
    const note = noteOn(step)
    return note === undefined ? [] : [printable(`${step.number}. ${step.agent}: ${note.words}`)]
  })
}

/** `To check the plan: forkhestra --chain plan`, each once. */
export function nextLines(notes: readonly Note[]): string[] {
  return [...new Set(notes.map(({ next: [command, why] }) => `To ${why}: ${command}`))]
}
