import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser'
import type { z } from 'zod'
import { UserError, type Problem as UserProblem } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import { agentSchema, chainsSchema, type ChainsConfig } from './chains-schema.ts'

/** Everything that is wrong with a configuration file, each mistake with its line and column. */
class ConfigError extends UserError {
  readonly #messages: readonly string[]

  constructor(messages: readonly string[], hint?: string) {
    super(messages.join('\n'), hint)
    this.#messages = messages
  }

  override get problems(): readonly UserProblem[] {
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
export function parseChainsFile(text: string, file: string): ChainsConfig {
  if (text.trim() === '') {
    throw new ConfigError([`${file}  is empty.`], `Write { "chains": {} } into it, or delete it.`)
  }
  const where = makeLocator(text, file)
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  if (root === undefined || errors.length > 0) {
    throw new ConfigError([...new Set(errors.map((error) => syntaxProblem(error, where)))])
  }
  // Of two equal keys the value holds only the last, so its mistakes could not be placed.
  refuse(keyProblems(root, where))
  const checked = chainsSchema.safeParse(getNodeValue(root))
  refuse((checked.error?.issues ?? []).flatMap((issue) => schemaProblems(issue, root, where)))
  return checked.data!
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return
  const inOrder = problems.toSorted((a, b) => a.offset - b.offset)
  throw new ConfigError(inOrder.map((problem) => problem.text))
}

interface Problem {
  readonly offset: number
  readonly text: string
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

function syntaxProblem(error: ParseError, where: Locator): string {
  const code = printParseErrorCode(error.error)
  return `${where(error.offset)}  ${SYNTAX[code] ?? code}.`
}

function schemaProblems(issue: z.core.$ZodIssue, root: Node, where: Locator): Problem[] {
  const path = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))
  const node = findNodeAtLocation(root, path)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const offset = keyOffset(node, key)
      const suggestion =
        didYouMean(key, knownKeys(path)) || `; known: ${knownKeys(path).join(', ')}`
      return {
        offset,
        text: `${where(offset)}  ${renderPath([...path, key])} is unknown${suggestion}`,
      }
    })
  }
  if (node === undefined) {
    const parent = findNodeAtLocation(root, path.slice(0, -1)) ?? root
    const text = `${where(parent.offset)}  ${renderPath(path)} is missing, expected ${issue.message}`
    return [{ offset: parent.offset, text }]
  }
  const found = renderFound(getNodeValue(node))
  const model = path.at(-1) === 'model' ? modelSuggestion(getNodeValue(node)) : ''
  const text = `${where(node.offset)}  ${renderPath(path)} is ${found}, expected ${issue.message}${model}`
  return [{ offset: node.offset, text }]
}

function modelSuggestion(value: unknown): string {
  return typeof value === 'string' ? didYouMean(value, ['sonnet', 'opus', 'haiku']) : ''
}

function keyOffset(parent: Node | undefined, key: string): number {
  const property = parent?.children?.find((child) => child.children?.[0]?.value === key)
  return property?.offset ?? parent?.offset ?? 0
}

function knownKeys(path: readonly (string | number)[]): string[] {
  const chain = chainsSchema.shape.chains.valueType
  if (path.length === 0) return Object.keys(chainsSchema.shape)
  if (path[0] === 'agents') return Object.keys(agentSchema.shape)
  if (path.length === 2) return Object.keys(chain.shape)
  return Object.keys(chain.shape.steps.element.shape)
}

/** A second key of the same name would silently win, and `__proto__` would silently vanish. */
function keyProblems(node: Node, where: Locator, path: (string | number)[] = []): Problem[] {
  const seen = new Set<string>()
  return (node.children ?? []).flatMap((child, index) => {
    if (node.type !== 'object') return keyProblems(child, where, [...path, index])
    const [key, value] = child.children ?? []
    const name = String(key?.value)
    const here = [...path, name]
    const inner = value === undefined ? [] : keyProblems(value, where, here)
    const problem = seen.has(name)
      ? 'is there twice'
      : name === '__proto__'
        ? 'cannot be a name'
        : ''
    seen.add(name)
    if (problem === '') return inner
    const text = `${where(child.offset)}  ${renderPath(here)} ${problem}`
    return [{ offset: child.offset, text }, ...inner]
  })
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

function renderFound(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value)
  return text.length > 60 ? `${text.slice(0, 57)}…"` : text
}
