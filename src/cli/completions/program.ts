import type { Program } from '../program.ts'

/** A possible completion. */
export interface Candidate {
  readonly value: string
  /** Description that shells show next to the value. */
  readonly text?: string | undefined
}

/** Possible completions; the shell itself completes paths. */
export interface Answer {
  readonly candidates: readonly Candidate[]
  readonly paths?: 'files' | 'directories'
}

/** The words before the one that is being completed. */
export interface Typed {
  readonly command: string
  readonly positionals: readonly string[]
  /** All values of each option; none for a flag. */
  readonly options: ReadonlyMap<string, readonly string[]>
}

/** Where the values of an option, or the words after a command, come from. */
export type Source = (typed: Typed) => Answer | undefined | Promise<Answer | undefined>

type Sources = Readonly<Record<string, Source>>

/** What completion needs to know about a program besides its commands and their options. */
export interface Completions {
  readonly program: Program
  /** Commands that have subcommands. */
  readonly programs?: Readonly<Record<string, () => Promise<Completions>>>
  /** By the name of the option. */
  readonly values: Sources
  /** By the name of the command; undefined from a source means that it takes no more words. */
  readonly words: Sources
  /** For words after `--`. */
  readonly rest?: Source
}

export const FILES: Source = () => ({ candidates: [], paths: 'files' })
export const DIRECTORIES: Source = () => ({ candidates: [], paths: 'directories' })

export function oneOf(words: readonly string[]): Source {
  return () => ({ candidates: words.map((value) => ({ value })) })
}
