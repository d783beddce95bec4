import type { Program } from '../program.ts'

/** One thing that may be written next. */
export interface Candidate {
  readonly value: string
  /** Description that shells show next to the value. */
  readonly text?: string | undefined
}

/** What may be written next; paths are left to the shell, which knows them best. */
export interface Answer {
  readonly candidates: readonly Candidate[]
  readonly paths?: 'files' | 'directories'
}

/** The words before the one that is being completed. */
export interface Typed {
  readonly command: string
  readonly positionals: readonly string[]
  /** All values of an option; of a flag none. */
  readonly options: ReadonlyMap<string, readonly string[]>
}

/** Where the values of an option, or the words after a command, come from. */
export type Source = (typed: Typed) => Answer | undefined | Promise<Answer | undefined>

type Sources = Readonly<Record<string, Source>>

/** What completion knows of a program beside its commands and their options. */
export interface Completions {
  readonly program: Program
  /** Of commands that are programs of their own. */
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
