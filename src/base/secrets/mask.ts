import { encodingOf, MASKED, OTHER_ENCODING } from './encodings.ts'
import { Finder } from './finder.ts'
import type { Environment } from '../environment.ts'
import { isSecretName, isSecretValue } from './names.ts'
import { SecretStream, type MaskStream } from './stream.ts'

export type { MaskStream }

/** Shorter texts cannot contain a secret. */
const SHORTEST = 8
const OPTION = /^--?[A-Za-z]/

/** Masks the secrets of a run: values of variables with secret names, and texts in the form of a key. */
export class Mask {
  readonly #finder: Finder

  constructor(env: Environment) {
    this.#finder = new Finder(env)
  }

  /** Replaces each secret by `[masked NAME]` if it is the value of a variable, else by `[masked]`. */
  text(text: string): string {
    if (text.length < SHORTEST) return text
    const bytes = Buffer.from(text)
    const masked = new SecretStream(this.#finder).last(bytes)
    return masked === bytes ? text : Buffer.from(masked).toString()
  }

  /** Masks every string in plain data, except keys. Returns the same object if nothing changed. */
  data<T>(value: T): T {
    return this.#data(value, false) as T
  }

  /** For one stream of bytes: a secret may be split between chunks. */
  stream(): MaskStream {
    return new SecretStream(this.#finder)
  }

  #data(value: unknown, isNamedSecret: boolean): unknown {
    if (typeof value === 'string') return this.#string(value, isNamedSecret)
    if (Array.isArray(value)) return this.#array(value)
    return isPlain(value) ? this.#object(value) : value
  }

  #string(text: string, isNamedSecret: boolean): string {
    const masked = this.text(text)
    const isOpen = isNamedSecret && masked === text && isSecretValue(text)
    return isOpen && !text.startsWith('[masked') ? MASKED : masked
  }

  /** The array may be a command line, in which an option such as `--token` precedes its value. */
  #array(values: readonly unknown[]): readonly unknown[] {
    let changed: unknown[] | undefined
    let isNamedSecret = false
    for (let index = 0; index < values.length; index += 1) {
      const value = values[index]
      const isOption = typeof value === 'string' && OPTION.test(value)
      const masked = this.#data(value, isNamedSecret && !isOption)
      if (masked !== value) (changed ??= [...values])[index] = masked
      isNamedSecret = isOption && isSecretName(value)
    }
    return changed ?? values
  }

  #object(object: Readonly<Record<string, unknown>>): unknown {
    let changed: Record<string, unknown> | undefined
    for (const key in object) {
      const value = object[key]
      if (typeof value !== 'string' && typeof value !== 'object') continue
      const masked = this.#data(value, typeof value === 'string' && isSecretName(key))
      if (masked !== value) (changed ??= { ...object })[key] = masked
    }
    return changed ?? object
  }
}

const MASK = /\[masked(?: ([^\]:\s]+)(?::([a-z0-9]+))?)?\]/g

/** Replaces `[masked NAME]` by the values of the environment; `missing` lists what cannot be replaced. */
export function unmask<T>(
  value: T,
  env: Environment,
): { readonly value: T; readonly missing: readonly string[] } {
  const missing = new Set<string>()
  const fill = (mask: string, name?: string, word?: string) => {
    if (name === undefined || word === OTHER_ENCODING) {
      missing.add(MASKED)
      return mask
    }
    const encode = word === undefined ? String : encodingOf(word)
    const isMask = encode !== undefined && (isSecretName(name) || word === 'password')
    if (!isMask) return mask
    const secret = encode(env[name]?.trim() ?? '')
    if (secret === '') missing.add(name)
    return secret === '' ? mask : secret
  }
  const filled = mapStrings(value, (text) => text.replace(MASK, fill))
  return { value: filled as T, missing: [...missing] }
}

/** Maps every string in plain data, except keys. */
export function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value)
  if (Array.isArray(value)) return value.map((each) => mapStrings(each, map))
  if (!isPlain(value)) return value
  const entries = Object.entries(value).map(([key, each]) => [key, mapStrings(each, map)])
  return Object.fromEntries(entries)
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
