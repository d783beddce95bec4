import { nearest } from '../../base/nearest.ts'
import { UsageError, type Input } from '../command.ts'

/** `name=value` before the words, as it is written in a prompt. */
const OPTION = /^([A-Za-z][\w-]*)=(.*)$/s

export const PUSH_OPTIONS = [
  'name',
  'agent',
  'model',
  'timeout',
  'retry',
  'isolation',
  'on_parent_end',
]

/** Options of all verbs, which are written with dashes only. */
const WITH_DASHES = ['run', 'cwd']
const LONGEST_WORD = 60

/** What was typed behind a verb; options may be written as in a prompt, too. */
export class Words {
  readonly #input: Input
  readonly #values = new Map<string, string>()
  readonly rest: readonly string[]

  constructor(input: Input, names: readonly string[]) {
    this.#input = input
    const words = [...input.positionals]
    for (let word = words[0]; word !== undefined; word = words[0]) {
      const [, name, value = ''] = OPTION.exec(word) ?? []
      // A last word with a blank behind its `=` is a sentence.
      const isText = /\s/.test(value) && words.length + input.rest.length === 1
      if (name === undefined || isText) break
      if (!names.includes(name)) {
        refuseOfOthers(name, word)
        refuseMistyped(name, word, names)
        break
      }
      if (this.#values.has(name)) throw new UsageError(`'${name}' is given twice.`)
      this.#values.set(name, value)
      words.shift()
    }
    this.rest = [...words, ...input.rest]
  }

  /** For verbs that take nothing but options. */
  none(): void {
    const [word] = this.rest
    if (word === undefined) return
    throw new UsageError(`Unexpected argument '${word}'.`, `Did you mean: --from ${word}`)
  }

  /** Of an option, by its name in a prompt. */
  text(name: string): string | undefined {
    return this.#values.get(name) ?? this.#input.text(name.replaceAll('_', '-'))
  }

  /** The only word, or none. */
  one(): string | undefined {
    const [word, surplus] = this.rest
    if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`)
    return word
  }

  whole(name: string): number | undefined {
    const text = this.text(name)
    return text === undefined ? undefined : readCount(name, text)
  }

  names(name: string): string[] | undefined {
    const text = this.text(name)
    if (text === undefined) return undefined
    const names = text.split(',').filter((each) => each !== '')
    if (names.length === 0) throw new UsageError(`${name} names nobody.`, 'Write e.g. --from a,b')
    return names
  }
}

/** Options of prompts and of other verbs, and where they belong. */
const OF_OTHERS: Readonly<Record<string, string>> = {
  on: 'to the teardown of a prompt',
  parallel: 'to run-queue',
  from: 'to check and receive',
  max: 'to check',
  ...Object.fromEntries(PUSH_OPTIONS.map((name) => [name, 'to push'])),
  timeout: 'to push and receive',
}

/** It is right elsewhere, and here it would be lost in the text without a sound. */
function refuseOfOthers(name: string, word: string): void {
  if (!Object.hasOwn(OF_OTHERS, name)) return
  const owner = OF_OTHERS[name]!
  const where = name === 'on' ? `Write it there, behind the content: /push ${shorten(word)} … ` : ''
  throw new UsageError(
    `'${name}' belongs ${owner}.`,
    `${where}If the text begins so, put it behind two dashes: -- "${shorten(word)}"`,
  )
}

/** As much of it as fits into a line. */
function shorten(word: string): string {
  return word.length > LONGEST_WORD ? `${word.split('=', 1)[0]}=…` : word
}

/** An option that is only almost right would be lost in the text without a sound. */
function refuseMistyped(name: string, word: string, names: readonly string[]): void {
  const close = nearest(name, [...names, ...WITH_DASHES])
  if (close === undefined) return
  const meant = WITH_DASHES.includes(close) ? `--${close}` : `'${close}'`
  throw new UsageError(
    `Unknown option '${name}', did you mean ${meant}?`,
    `If the text begins so, put it behind two dashes: -- "${shorten(word)}"`,
  )
}

const MOST = 1_000_000

export function readCount(what: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (value > 0 && value <= MOST) return value
  throw new UsageError(`${what} is '${text}', expected a whole number from 1 to ${MOST}.`)
}
