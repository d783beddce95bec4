import type { QueueDoor } from '../verbs/door.ts'
import type { Keeping, MayGoOn } from './conversation/history.ts'
import type { Workplace } from './tools/tool.ts'

/** What there is of the tokens at this moment: others may spend from the same budget. */
export interface TokensLeft {
  /** Without what the others need to come to an end. */
  readonly left: number
  readonly used: number
  readonly limit: number
}

/** What the built-in agent needs from whoever runs it. */
export interface AgentIo {
  /** Keys and addresses of providers, among others. */
  readonly env: Readonly<Record<string, string>>
  readonly workplace: Workplace
  /** Where its conversation is kept; absent: nowhere. */
  readonly keeping?: Keeping | undefined
  /** Whether a conversation that is kept there may go on. */
  readonly mayGoOn: MayGoOn
  /** What it may take; absent: as much as it likes. */
  readonly left: { readonly costUsd?: number; readonly tokens?: () => TokensLeft | undefined }
  /** Aborts, with the words for it, when nothing is left: it has one more turn to say what there is. */
  readonly spent: AbortSignal
  /** Queue and inbox, where it gets tools for them. */
  readonly queue?: QueueDoor | undefined
  /** Says that it is at work although it says nothing. */
  readonly alive: () => void
}
