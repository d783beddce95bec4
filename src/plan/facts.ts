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
  readonly readPrompt: ReadPrompt
}
