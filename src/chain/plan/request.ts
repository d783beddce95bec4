import type { ChainConfig } from '../parse/chains-schema.ts'
import type { NotifyConfig } from '../parse/notify-schema.ts'
import type { BranchConfig } from './branches.ts'
import type { Overrides } from './overrides.ts'
import type { Plan } from './plan.ts'
import type { Grace } from './policy.ts'
import type { Known } from './resolve-agent.ts'

/** A prompt as text or as the path of a file; the text wins. */
export interface InlineOrFile {
  readonly prompt?: string | undefined
  readonly promptFile?: string | undefined
}

/** The user's request, parsed but not yet checked against the machine. */
export interface Request extends Known {
  readonly run: string
  readonly name?: string | undefined
  readonly chain: ChainConfig
  /** From the command line. Steps of the library contain only built-in variables. */
  readonly variables: ReadonlyMap<string, string> | 'built-in only'
  /** Arguments for every agent. */
  readonly args: readonly string[]
  readonly cliPrompt: InlineOrFile
  /** Overrides the configuration for every step. */
  readonly grace?: Grace
  readonly rawPrompt?: boolean
  /** From the command line; they override the configuration. */
  readonly overrides?: Overrides
  /** Settings for branches from the command line; they override the configuration. */
  readonly branching?: Pick<BranchConfig, 'setup' | 'copy'> & {
    /** Whether the chain as a whole is a branch with a worktree. */
    readonly isWhole?: boolean
  }
  readonly configuration?: Plan['configuration']
  readonly queueLimits?: Plan['queueLimits']
  /** Unless the chain has its own. */
  readonly notify?: NotifyConfig
}
