import { nearest } from '../../base/nearest.ts'
import { UsageError, type Input } from '../command.ts'

/** `name=value` before the words, as it is written in a prompt. */
const OPTION = /^([A-Za-z][\w-]*)=(.*)$/s

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

/** An option that is only almost right would be lost in the text without a sound. */
function refuseMistyped(name: string, word: string, names: readonly string[]): void {
  const close = nearest(name, [...names, ...WITH_DASHES])
  if (close === undefined) return
  const meant = WITH_DASHES.includes(close) ? `--${close}` : `'${close}'`
  throw new UsageError(
    `Unknown option '${name}', did you mean ${meant}?`,
    `If the text begins so, put it behind two dashes: -- "${word.length > LONGEST_WORD ? `${name}=…` : word}"`,
  )
}

const MOST = 1_000_000

export function readCount(what: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0
  if (value > 0 && value <= MOST) return value
  throw new UsageError(`${what} is '${text}', expected a whole number from 1 to ${MOST}.`)
}
