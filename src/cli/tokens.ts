import type { Options } from './command.ts'

/** One word of the command line, or an option with its value. */
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
 * the whole runtime needs to start; for the same reason it is not a generator.
 */
export function readTokens(args: readonly string[], options: Options): Token[] {
  const tokens: Token[] = []
  const words = [...args]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    // An arrow, or a chain that begins with one, looks like a bundle of one-letter options.
    if (word === '-' || !word.startsWith('-') || /^-+>/.test(word)) {
      tokens.push({ kind: 'word', value: word })
    } else if (word === '--') {
      tokens.push({ kind: 'rest', words: words.splice(0) })
    } else if (word.startsWith('--')) {
      const equals = word.indexOf('=', 3)
      const name = word.slice(2, equals === -1 ? undefined : equals)
      if (equals !== -1) tokens.push(inline(name, `--${name}`, word.slice(equals + 1)))
      else tokens.push(option(name, word, takesValue(name, options) ? words.shift() : undefined))
    } else if (word.length > 2 && Object.hasOwn(options, word.slice(1))) {
      // A long option with one dash: it is refused, and the right one named.
      tokens.push(option(word, word, undefined))
    } else {
      tokens.push(...readLetters(Array.from(word.slice(1)), words, options))
    }
  }
  return tokens
}

function takesValue(name: string, options: Options): boolean {
  return Object.hasOwn(options, name) && options[name]?.value !== undefined
}

/** A bundle: flags, and at its end perhaps an option with its value, which may be the next word. */
function readLetters(letters: readonly string[], words: string[], options: Options): Token[] {
  const tokens: Token[] = []
  const names = Object.keys(options)
  for (let at = 0; at < letters.length; at++) {
    const letter = letters[at]!
    const name = names.find((each) => options[each]?.short === letter) ?? letter
    const behind = letters.slice(at + 1).join('')
    if (!takesValue(name, options)) tokens.push(option(name, `-${letter}`, undefined))
    else if (behind === '') tokens.push(option(name, `-${letter}`, words.shift()))
    else return [...tokens, inline(name, `-${letter}`, behind)]
  }
  return tokens
}

function option(name: string, rawName: string, value: string | undefined): OptionToken {
  return { kind: 'option', name, rawName, ...(value === undefined ? {} : { value }) }
}

function inline(name: string, rawName: string, value: string): OptionToken {
  return { kind: 'option', name, rawName, value, isInline: true }
}
