import { homedir } from 'node:os'
import { join } from 'node:path'
import { openProject, type Project } from '../../host/project.ts'
import type { Program } from '../program.ts'

/** A possible completion. */
export interface Candidate {
  readonly value: string
  /** Description that shells show next to the value. */
  readonly text?: string | undefined
}

/** Possible completions; the shell itself completes paths. */
export interface Suggestions {
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

/** Supplies the values of an option, or the words after a command. */
export type ValueSource = (
  typed: Typed,
) => Suggestions | undefined | Promise<Suggestions | undefined>

type ValueSources = Readonly<Record<string, ValueSource>>

/** What completion needs to know about a program besides its commands and their options. */
export interface Completions {
  readonly program: Program
  /** Commands that have subcommands. */
  readonly programs?: Readonly<Record<string, () => Promise<Completions>>>
  /** By the name of the option. */
  readonly values: ValueSources
  /** By the name of the command; a source returns undefined if the command takes no more words. */
  readonly words: ValueSources
  /** For words after `--`. */
  readonly rest?: ValueSource
}

export const FILES: ValueSource = () => ({ candidates: [], paths: 'files' })
export const DIRECTORIES: ValueSource = () => ({ candidates: [], paths: 'directories' })

export function oneOf(words: readonly string[]): ValueSource {
  return () => ({ candidates: words.map((value) => ({ value })) })
}

/** For commands that take one word. */
export function once(source: ValueSource): ValueSource {
  return (typed) => (typed.positionals.length === 0 ? source(typed) : undefined)
}

/** The project that `--cwd` names, or the current one. */
export function typedProject(options: Typed['options']): Project {
  const cwd = options.get('cwd')?.at(-1)
  return openProject(cwd && expandTilde(cwd), process.env)
}

/** For a path that the shell has not expanded yet. */
export function expandTilde(path: string): string {
  return /^~(?:\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path
}
