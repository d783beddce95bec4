import type { Problem } from '../../base/errors.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { ReadPrompt } from '../prompts/choose.ts'

/** The program that a name or path refers to. */
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

/** Why a file is not an agent. */
export interface AgentFileProblem extends Problem {
  /** The name that the agent would have. */
  readonly name: string
  /** Whether the file may not be an agent at all, but notes for example. */
  readonly isHarmless?: boolean
}

/** Everything that planning may know about the machine. */
export interface Facts {
  programAt(path: string): ProgramFact
  programOnPath(name: string): ProgramFact
  /** The folders of PATH, for messages. */
  readonly searchPath: readonly string[]
  fileExists(path: string): boolean
  /** The names in a folder, for hints; empty if there is no such folder. */
  namesIn(folder: string): readonly string[]
  /** Whether a coding CLI refuses to work without permission prompts: as root, outside a sandbox. */
  readonly mustAsk: boolean
  /** Whether a program comes with forkhestra. */
  isOwnProgram(path: string): boolean
  isInRepository(folder: string): boolean
  /** Whether a folder is inside a git repository that has no working tree. */
  isBareRepository(folder: string): boolean
  /** Whether a variable of the environment has a value. */
  hasVariable(name: string): boolean
  readonly readPrompt: ReadPrompt
  /** The files in `.claude/agents` of a project. */
  agentFiles(cwd: string): AgentFiles
  /** The files in `.claude/agents` of the user. */
  userAgentFiles(): AgentFiles
}
