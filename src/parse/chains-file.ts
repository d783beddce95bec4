import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser'
import type { z } from 'zod'
import { UserError, type Problem } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import {
  agentSchema,
  chainSchema,
  chainsSchema,
  stepSchema,
  type ChainsConfig,
} from './chains-schema.ts'

/** Everything that is wrong with a configuration file, each mistake with its line and column. */
class ConfigError extends UserError {
  readonly #messages: readonly string[]

  constructor(messages: readonly string[], hint?: string) {
    super(messages.join('\n'), hint)
    this.#messages = messages
  }

  override get problems(): readonly Problem[] {
    return this.#messages.map((message) => ({ message, hint: this.hint }))
  }
}

const SYNTAX: Partial<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'this is no JSON value',
  InvalidNumberFormat: 'this is no number',
  PropertyNameExpected: 'a property name in double quotes is expected here',
  ValueExpected: 'a value is expected here',
  ColonExpected: "':' is expected here",
  CommaExpected: "',' is expected here",
  CloseBraceExpected: "'}' is missing",
  CloseBracketExpected: "']' is missing",
  EndOfFileExpected: 'the file goes on behind its end',
  UnexpectedEndOfComment: 'a comment is never closed',
  UnexpectedEndOfString: 'a string is never closed',
  UnexpectedEndOfNumber: 'this is no number',
  InvalidUnicode: 'a \\u escape is broken',
  InvalidEscapeCharacter: 'an unknown escape in a string',
  InvalidCharacter: 'a control character in a string',
}

/** Reads a chains.json: JSON with comments and trailing commas. `file` is its name in messages. */
export function parseChainsFile(content: string, file: string): ChainsConfig {
  // Some editors put a byte order mark in front.
  const text = content.replace(/^\uFEFF/, '')
  if (text.trim() === '') {
    throw new ConfigError([`${file}  is empty.`], `Write { "chains": {} } into it, or delete it.`)
  }
  try {
    return check(text, makeLocator(text, file))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new ConfigError([`${file}  is nested too deeply.`])
  }
}

function check(text: string, where: Locator): ChainsConfig {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  refuse(errors.map(syntaxFinding), where)
  if (root === undefined) throw new Error('no value and no error')
  const keys = keyFindings(root)
  const checked = chainsSchema.safeParse(getNodeValue(root), { jitless: true })
  const issues = (checked.error?.issues ?? []).flatMap((issue) => schemaFindings(issue, root, text))
  // Of two equal keys the value holds only the last, so what is wrong in it could not be placed.
  const isDoubtful = (path: string) => keys.some((key) => isWithin(path, key.path))
  refuse([...keys, ...issues.filter(({ path }) => !isDoubtful(path))], where)
  return checked.data!
}

/** Something wrong at a place of the text. */
interface Finding {
  /** Where in the value, e.g. `chains.build.steps[0]`. */
  readonly path: string
  readonly offset: number
  readonly text: string
}

/** More than anybody mends in one go. */
const MOST_PROBLEMS = 50

function refuse(problems: readonly Finding[], where: Locator): void {
  if (problems.length === 0) return
  const inOrder = problems.toSorted((a, b) => a.offset - b.offset)
  const shown = inOrder
    .slice(0, MOST_PROBLEMS)
    .map(({ offset, text }) => `${where(offset)}  ${text}`)
  const more = problems.length - MOST_PROBLEMS
  throw new ConfigError([...new Set(shown), ...(more > 0 ? [`… and ${more} more`] : [])])
}

type Locator = (offset: number) => string

function makeLocator(text: string, file: string): Locator {
  return (offset) => {
    const before = text.slice(0, offset)
    const line = before.split(/\r\n|\r|\n/).length
    const column = offset - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'))
    return `${file}:${line}:${column}`
  }
}

function syntaxFinding({ error, offset }: ParseError): Finding {
  const code = printParseErrorCode(error)
  return { path: '', offset, text: `${SYNTAX[code] ?? code}.` }
}

function schemaFindings(issue: z.core.$ZodIssue, root: Node, text: string): Finding[] {
  const keys = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))
  const path = renderPath(keys)
  const node = findNodeAtLocation(root, keys)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const known = knownKeys(keys)
      const suggestion = didYouMean(key, known) || `; known: ${known.join(', ')}`
      const place = renderPath([...keys, key])
      return { path: place, offset: keyOffset(node, key), text: `${place} is unknown${suggestion}` }
    })
  }
  if (node === undefined) {
    const { offset } = findNodeAtLocation(root, keys.slice(0, -1)) ?? root
    return [{ path, offset, text: `${path} is missing, expected ${issue.message}` }]
  }
  const model = keys.at(-1) === 'model' ? modelSuggestion(getNodeValue(node)) : ''
  const found = `${path} is ${renderFound(node, text)}`
  return [{ path, offset: node.offset, text: `${found}, expected ${issue.message}${model}` }]
}

function modelSuggestion(value: unknown): string {
  return typeof value === 'string' ? didYouMean(value, ['sonnet', 'opus', 'haiku']) : ''
}

function keyOffset(parent: Node | undefined, key: string): number {
  const property = parent?.children?.find((child) => child.children?.[0]?.value === key)
  return property?.offset ?? parent?.offset ?? 0
}

function knownKeys(path: readonly (string | number)[]): string[] {
  if (path.length === 0) return Object.keys(chainsSchema.shape)
  if (path[0] === 'agents') return Object.keys(agentSchema.shape)
  return Object.keys(path.length === 2 ? chainSchema.shape : stepSchema.shape)
}

/** Keys that no value shows: a second one of the same name, and those that nobody could type. */
function keyFindings(node: Node, keys: (string | number)[] = []): Finding[] {
  const seen = new Set<string>()
  return (node.children ?? []).flatMap((child, index) => {
    if (node.type !== 'object') return keyFindings(child, [...keys, index])
    const [key, value] = child.children ?? []
    const name = String(key?.value)
    const here = [...keys, name]
    const path = renderPath(here)
    const findings = value === undefined ? [] : keyFindings(value, here)
    const problem = seen.has(name) ? 'is there twice' : nameProblem(name)
    seen.add(name)
    if (problem === undefined) return findings
    return [...findings, { path, offset: child.offset, text: `${path} ${problem}` }]
  })
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`) || path.startsWith(`${other}[`)
}

function nameProblem(name: string): string | undefined {
  if (name === '__proto__') return 'cannot be a name'
  if (name.trim() === '') return 'has no name'
  return /\p{Cc}/u.test(name) ? 'has control characters in its name' : undefined
}

function renderPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return 'the file'
  return path
    .map((key, index) => {
      if (typeof key === 'number') return `[${key}]`
      if (!/^[\w$:-]+$/.test(key)) return `[${JSON.stringify(key)}]`
      return index === 0 ? key : `.${key}`
    })
    .join('')
}

function renderFound({ type, children = [], offset, length }: Node, text: string): string {
  if (type === 'array') return children.length === 0 ? 'an empty list' : 'a list'
  if (type === 'object') return 'an object'
  const found = text.slice(offset, offset + length)
  return found.length > 60 ? `${found.slice(0, 57)}…"` : found
}
