import type { QueueProvider } from '../../queue/tools/provider.ts'
import type { ConversationStorage, ResumePolicy } from './conversation/history.ts'
import type { Workspace } from './tools/tool.ts'

/** The current state of a token budget that other agents may share. */
export interface TokensLeft {
  /** Without the reserve that the others need to finish. */
  readonly left: number
  readonly used: number
  readonly limit: number
}

/** What the built-in agent needs from its caller. */
export interface AgentIo {
  /** Includes keys and addresses of providers. */
  readonly env: Readonly<Record<string, string>>
  readonly workspace: Workspace
  /** Absent: the conversation is not stored. */
  readonly storage?: ConversationStorage | undefined
  /** Whether a stored conversation may be continued. */
  readonly resumePolicy: ResumePolicy
  /** The remaining budget; absent values are unlimited. */
  readonly left: { readonly costUsd?: number; readonly tokens?: () => TokensLeft | undefined }
  /** Aborts, with the reason, when the budget is spent; one more turn is left for a report. */
  readonly spent: AbortSignal
  /** Set if it gets the queue and inbox tools. */
  readonly queue?: QueueProvider | undefined
  /** Reports activity while there is no output. */
  readonly alive: () => void
}
