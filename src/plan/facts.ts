import type { Problem } from '../base/errors.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { ReadPrompt } from '../prompt/choose.ts'

/** What a name or path leads to when it is to be started. */
export type ProgramFact =
  | { readonly kind: 'program'; readonly path: string; readonly interpreter?: string }
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'unusable'
      readonly path: string
      readonly problem: string
      readonly hint?: string
    }

/** The agents of Claude Code in one folder. */
export interface AgentFiles {
  readonly agents: ReadonlyMap<string, AgentFile>
  readonly problems: readonly AgentFileProblem[]
}

/** Why a file is no agent. */
export interface AgentFileProblem extends Problem {
  /** The agent that it would be. */
  readonly name: string
  /** Whether it need not be one: notes may lie there, too. */
  readonly isHarmless?: boolean
}

/** What planning may know of the machine. It asks; it never looks. */
export interface Facts {
  programAt(path: string): ProgramFact
  programOnPath(name: string): ProgramFact
  /** The folders of PATH, for a message that says where was looked. */
  readonly searchPath: readonly string[]
  fileExists(path: string): boolean
  /** Whether a coding CLI refuses here to work without asking: for root, outside of a sandbox. */
  readonly mustAsk: boolean
  /** Whether a program is one of those that come with forkhestra. */
  isOwnProgram(path: string): boolean
  /** Whether a folder is inside of a git repository. */
  isInRepository(folder: string): boolean
  /** Whether a variable of the environment has a value. */
  hasVariable(name: string): boolean
  readonly readPrompt: ReadPrompt
  /** What is in `.claude/agents` of a project. */
  agentFiles(cwd: string): AgentFiles
  /** The same of the user's own folder. */
  userAgentFiles(): AgentFiles
}
