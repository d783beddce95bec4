import type { PushOptions } from '../../../queue/push-options.ts'

interface ReadCommand {
  readonly kind: 'read'
  readonly path: string
  readonly line: number
}

export interface PushCommand extends PushOptions {
  readonly kind: 'push'
  /** May contain commands itself, which are parsed when the task starts. */
  readonly prompt: string
  readonly line: number
}

/** Starts the oldest `count` tasks, or the whole queue, `parallel` at a time; never both. */
interface RunCommand {
  readonly kind: 'run'
  readonly count?: number
  readonly parallel?: number
  readonly line: number
}

export type SetupCommand = ReadCommand | PushCommand | RunCommand

/** A prompt: commands before the agent, the content for the agent, commands after it. */
export interface Phases {
  readonly setup: readonly SetupCommand[]
  readonly content: string
  readonly teardown: readonly PushCommand[]
}
