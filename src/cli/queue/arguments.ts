import { nearest } from '../../base/nearest.ts'
import { readWhole } from '../../base/numbers.ts'
import { UsageError, type Input } from '../command.ts'
import type { QueueRequest } from '../../host/queue/caller.ts'
import { PUSH_OPTIONS } from '../../queue/push-options.ts'
import { frontEndOf } from '../front-end.ts'

/** `name=value` before the text, as in a prompt. */
const OPTION = /^([A-Za-z][\w-]*)=(.*)$/s

/** `on` is valid only in the teardown of a prompt. */
export const PUSHED_OPTIONS = [...PUSH_OPTIONS.keys()].filter((name) => name !== 'on')

/** Options of all commands that must be written with dashes. */
const DASHED_OPTIONS = ['run', 'cwd']
const LONGEST_WORD = 60

/** The arguments of a queue command; options may also be written as in a prompt. */
export class QueueArguments {
  readonly #input: Input
  readonly #values = new Map<string, string>()
  readonly rest: readonly string[]

  constructor(input: Input, names: readonly string[]) {
    this.#input = input
    const words = [...input.positionals]
    for (let word = words[0]; word !== undefined; word = words[0]) {
      const [, name, value = ''] = OPTION.exec(word) ?? []
      // A last argument with a space after `=` is text.
      const isText = /\s/.test(value) && words.length + input.rest.length === 1
      if (name === undefined || isText) break
      if (!names.includes(name)) {
        refuseMisplaced(name, word)
        refuseMistyped(name, word, names)
        break
      }
      if (this.text(name) !== undefined) throw new UsageError(`'${name}' is given twice.`)
      this.#values.set(name, value)
      words.shift()
    }
    refuseTrailing(words.slice(1), names)
    this.rest = [...words, ...input.rest]
  }

  /** For commands that take only options. */
  expectNone(): void {
    const [word] = this.rest
    if (word === undefined) return
    throw new UsageError(`Unexpected argument '${word}'.`, `Did you mean: --from ${word}`)
  }

  /** The value of an option, by its name in a prompt. */
  text(name: string): string | undefined {
    return this.#values.get(name) ?? this.#input.text(name.replaceAll('_', '-'))
  }

  optional(): string | undefined {
    const [word, surplus] = this.rest
    if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`)
    return word
  }

  count(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : readCount(name, text)
  }

  names(name: string): string[] | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const names = text.split(',').filter((each) => each !== '')
    if (names.length === 0) throw new UsageError(`${name} is empty.`, 'For example: --from a,b')
    return names
  }
}

/** Options of prompts and of other commands, with their owner. */
const OPTION_OWNERS: Readonly<Record<string, string>> = {
  on: '/push after the content of a prompt',
  parallel: 'run-queue',
  from: 'check and receive',
  max: 'check',
  ...Object.fromEntries(PUSHED_OPTIONS.map((name) => [name, 'push'])),
  timeout: 'push and receive',
}

/** Without this check, an option of another command would silently become part of the text. */
function refuseMisplaced(name: string, word: string): void {
  if (!Object.hasOwn(OPTION_OWNERS, name)) return
  const owner = OPTION_OWNERS[name]!
  const where = name === 'on' ? `Write it there: /push ${withoutValue(word)} … ` : ''
  throw new UsageError(
    `'${name}' is an option of ${owner}.`,
    `${where}If this is the beginning of the text, write it after --: -- "${withoutValue(word)}"`,
  )
}

/** Without this check, an option after the text would silently become part of it. */
function refuseTrailing(words: readonly string[], names: readonly string[]): void {
  const word = words.find((each) => names.includes(OPTION.exec(each)?.[1] ?? ''))
  if (word === undefined) return
  throw new UsageError(
    `'${withoutValue(word)}' comes after the text.`,
    `Write it before the text. If it is part of the text, quote the text: "… ${withoutValue(word)}"`,
  )
}

function withoutValue(word: string): string {
  return word.length > LONGEST_WORD ? `${word.split('=', 1)[0]}=…` : word
}

/** Without this check, a misspelt option would silently become part of the text. */
function refuseMistyped(name: string, word: string, names: readonly string[]): void {
  const close = nearest(name, [...names, ...DASHED_OPTIONS])
  if (close === undefined) return
  const meant = DASHED_OPTIONS.includes(close) ? `--${close}` : `'${close}'`
  throw new UsageError(
    `Unknown option '${name}' (did you mean ${meant}?)`,
    `If this is the beginning of the text, write it after --: -- "${withoutValue(word)}"`,
  )
}

/** A count of tasks or messages. */
export function readCount(what: string, text: string): number {
  return readWhole(what, text, { least: 1, most: 1_000_000 })
}

export function queueRequest(input: Input): QueueRequest {
  return { frontEnd: frontEndOf(input), run: input.text('run') }
}
