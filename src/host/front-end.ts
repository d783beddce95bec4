import type { Project } from './project.ts'

/** The command line, the library or the MCP server. */
export interface FrontEnd {
  /** The environment of the process, not that of agents. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly project: Project
  /** `--cwd` as the user typed it, for commands in hints; empty if it is not needed. */
  readonly cwdOption: string
  /** Shows a line that is not part of the result. */
  readonly notice: (line: string) => void
  /** Asks the user; false if there is no terminal. */
  readonly confirm: (question: string) => Promise<boolean>
}
