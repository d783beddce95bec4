import type { Options } from './command.ts'

/** A word of the command line, as the one behind or before it allows to read it. */
export type Token =
  | { readonly kind: 'word'; readonly value: string }
  | OptionToken
  | { readonly kind: 'rest'; readonly words: readonly string[] }

export interface OptionToken {
  readonly kind: 'option'
  readonly name: string
  /** With its dashes, as it was typed. */
  readonly rawName: string
  readonly value?: string
  /** Whether the value was part of the same word. */
  readonly isInline?: boolean
}

/**
 * Reads words as `node:util` does with `parseArgs`, whose loading alone takes a third of the time that
 * the whole runtime needs to start.
 */
export function* readTokens(args: readonly string[], options: Options): Generator<Token> {
  const longNames = new Map(Object.entries(options).map(([name, { short }]) => [short, name]))
  const takesValue = (name: string) =>
    Object.hasOwn(options, name) && options[name]?.value !== undefined
  const words = [...args]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    // A chain that begins with its arrow looks like a bundle of one-letter options.
    if (word === '-' || !word.startsWith('-') || word.startsWith('->')) {
      yield { kind: 'word', value: word }
    } else if (word === '--') {
      yield { kind: 'rest', words: words.splice(0) }
    } else if (word.startsWith('--')) {
      const equals = word.indexOf('=', 3)
      const name = word.slice(2, equals === -1 ? undefined : equals)
      if (equals !== -1) yield inline(name, `--${name}`, word.slice(equals + 1))
      else yield option(name, word, takesValue(name) ? words.shift() : undefined)
    } else {
      yield* readLetters(Array.from(word.slice(1)))
    }
  }

  /** A bundle: flags, and at its end perhaps an option with its value. */
  function* readLetters(letters: readonly string[]): Generator<Token> {
    for (const [index, letter] of letters.entries()) {
      const name = longNames.get(letter) ?? letter
      const behind = letters.slice(index + 1).join('')
      if (!takesValue(name)) yield option(name, `-${letter}`, undefined)
      else if (behind === '') yield option(name, `-${letter}`, words.shift())
      else {
        yield inline(name, `-${letter}`, behind)
        return
      }
    }
  }
}

function option(name: string, rawName: string, value: string | undefined): OptionToken {
  return { kind: 'option', name, rawName, ...(value === undefined ? {} : { value }) }
}

function inline(name: string, rawName: string, value: string): OptionToken {
  return { kind: 'option', name, rawName, value, isInline: true }
}
