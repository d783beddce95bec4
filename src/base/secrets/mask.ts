import { encodingOf, MASKED, OTHER_ENCODING } from './encodings.ts'
import { Finder } from './finder.ts'
import type { Environment } from './known-values.ts'
import { isSecretName, isSecretValue } from './names.ts'
import { SecretStream, type MaskStream } from './stream.ts'

export type { MaskStream }

/** Nothing shorter is a secret. */
const SHORTEST = 8
/** Texts up to here are encoded without new memory. */
const SHORT = 4096
const scratch = Buffer.alloc(SHORT * 3)
const OPTION = /^--?[A-Za-z]/

/** Knows the secrets of a run: values of variables by name, and forms that only secrets have. */
export class Mask {
  readonly #finder: Finder

  constructor(env: Environment) {
    this.#finder = new Finder(env)
  }

  /** The text with each secret replaced: `[masked NAME]` where a variable holds it, else `[masked]`. */
  text(text: string): string {
    if (text.length < SHORTEST) return text
    const bytes = text.length > SHORT ? Buffer.from(text) : inScratch(text)
    if (this.#finder.needles.next(bytes, 0) === -1) return text
    const masked = new SecretStream(this.#finder).last(bytes)
    return masked === bytes ? text : Buffer.from(masked).toString()
  }

  /** The same for every string inside plain data; keys stay. Returns the same object where nothing had to change. */
  data<T>(value: T): T {
    return this.#data(value, false) as T
  }

  /** One per stream of bytes: a secret may be cut in two by the end of a chunk. */
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

  /** The words of a command, too: an option may be named like a secret. */
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

/** Fills `[masked NAME]` again from the environment; `missing` names what cannot be filled. */
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

/** Plain data with each of its strings replaced; keys stay. */
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

function inScratch(text: string): Uint8Array {
  return scratch.subarray(0, scratch.write(text))
}
