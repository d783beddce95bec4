import { tryOr } from '../errors.ts'
import { dumpsOf } from './cells.ts'
import { encodingFor, innerBase64, linesOf, OTHER_ENCODING } from './encodings.ts'
import { isSecretName, isSecretValue, passwordIn } from './names.ts'
import type { Spelling } from './spelling.ts'
import { Text } from './text.ts'
import type { Environment } from '../environment.ts'

export interface KnownValue {
  readonly spellings: readonly Spelling[]
  /** The mask for one occurrence; spellings other than the value itself get the name of their encoding. */
  maskFor(text: string): string
}

/** The values of secret variables. */
export function knownValues(env: Environment): KnownValue[] {
  const found = new Map<string, KnownValue>()
  const add = (name: string, raw: string, word?: string) => {
    const value = raw.toWellFormed()
    if (!isSecretValue(value) || found.has(value)) return
    const isLine = word?.startsWith('line') === true
    const maskFor = (text: string) => {
      const encoding = word === undefined ? encodingFor(value, text) : OTHER_ENCODING
      const shown = text === value ? word : encoding
      return shown === undefined ? `[masked ${name}]` : `[masked ${name}:${shown}]`
    }
    found.set(value, { spellings: isLine ? [new Text(value)] : spellingsOf(value), maskFor })
  }
  for (const [name, raw = ''] of Object.entries(env)) {
    const value = raw.trim()
    if (isSecretName(name)) {
      add(name, value)
      for (const [line, text] of linesOf(value)) add(name, text, `line${line}`)
    }
    const password = passwordIn(value)
    add(name, password, 'password')
    add(name, decoded(password), OTHER_ENCODING)
  }
  return [...found.values()]
}

/** The ways in which programs print a value. */
function spellingsOf(value: string): Spelling[] {
  const inner = innerBase64(value, 0)
  const last = Buffer.from(value).toString('base64url')[inner.length]
  return [
    new Text(value),
    new Text(inner, true, last),
    ...[1, 2].map((before) => new Text(innerBase64(value, before), true)),
    ...dumpsOf(value),
  ]
}

function decoded(text: string): string {
  return tryOr(text, () => decodeURIComponent(text))
}
