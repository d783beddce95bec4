import type { Command } from '../command.ts'

/** One thing that may be written next. */
export interface Candidate {
  readonly value: string
  /** What a shell with room for it shows beside the value. */
  readonly text?: string | undefined
}

/** What may be written next; paths are left to the shell, which knows them best. */
export interface Answer {
  readonly candidates: readonly Candidate[]
  readonly paths?: 'files' | 'directories'
}

/** What stands before the word that is being completed. */
export interface Typed {
  readonly verb: string
  readonly positionals: readonly string[]
  /** All values of an option; of a flag none. */
  readonly options: ReadonlyMap<string, readonly string[]>
}

/** Where the values of an option, or the words behind a verb, come from. */
export type Source = (typed: Typed) => Answer | undefined | Promise<Answer | undefined>

type Sources = Readonly<Record<string, Source>>

type Verb = { readonly summary: string } & (
  { readonly load: () => Promise<Command> } | { readonly program: () => Promise<Program> }
)

/** A program as completion sees it. */
export interface Program {
  readonly name: string
  readonly verbs: Readonly<Record<string, Verb>>
  readonly aliases: Readonly<Record<string, string>>
  /** The verb that is meant where none is written. */
  readonly unwritten?: string
  /** By the name of the option. */
  readonly values: Sources
  /** By the name of the verb; undefined from a source means that it takes no more words. */
  readonly words: Sources
  /** What stands behind `--`. */
  readonly rest?: Source
}

export const FILES: Source = () => ({ candidates: [], paths: 'files' })
export const DIRECTORIES: Source = () => ({ candidates: [], paths: 'directories' })

export function oneOf(words: readonly string[]): Source {
  return () => ({ candidates: words.map((value) => ({ value })) })
}
