import {
  findNodeAtLocation,
  getNodeValue,
  parseTree,
  printParseErrorCode,
  type Node,
  type ParseError,
} from 'jsonc-parser'
import type * as z from 'zod/mini'
import { UserError, type Problem } from './errors.ts'
import { didYouMean } from './nearest.ts'

/** Everything that is wrong with a file, each mistake with its line and column. */
class JsoncError extends UserError {
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
  InvalidSymbol: 'not a JSON value',
  InvalidNumberFormat: 'not a number',
  PropertyNameExpected: 'expected a property name in double quotes',
  ValueExpected: 'expected a value',
  ColonExpected: "expected ':'",
  CommaExpected: "expected ','",
  CloseBraceExpected: "missing '}'",
  CloseBracketExpected: "missing ']'",
  EndOfFileExpected: 'unexpected content after the end of the document',
  UnexpectedEndOfComment: 'comment is not closed',
  UnexpectedEndOfString: 'string is not closed',
  UnexpectedEndOfNumber: 'not a number',
  InvalidUnicode: 'invalid \\u escape',
  InvalidEscapeCharacter: 'unknown escape in a string',
  InvalidCharacter: 'control character in a string',
}

type Schema = z.ZodMiniType
type ExplainKey = (key: string, path: readonly (string | number)[]) => string | undefined
type Suggest = (key: string | number | undefined, value: unknown) => string

/** The expected content of a file. The `error` of a schema completes "expected …" in messages. */
interface Format<S extends Schema> {
  schemaOf(value: unknown): S
  readonly emptyHint: string
  /** The tail of a message about a wrong value, e.g. ` (did you mean 'x'?)` */
  readonly suggest?: Suggest
  /** The tail of a message about an unknown key that is known in another place. */
  readonly explainKey?: ExplainKey
  /** Whether messages must not quote the value at this place, because it may be a secret. */
  readonly isSecret?: (path: readonly (string | number)[]) => boolean
}

/** Reads JSON with comments and trailing commas. `file` is its name in messages. */
export function parseJsonc<S extends Schema>(
  content: string,
  file: string,
  format: Format<S>,
): z.output<S> {
  // Some editors write a byte order mark.
  const text = content.replace(/^\uFEFF/, '')
  if (text.trim() === '') throw new JsoncError([`${file} is empty.`], format.emptyHint)
  try {
    return check(text, makeLocator(text, file), format)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new JsoncError([`${file}  is nested too deeply.`])
  }
}

function check<S extends Schema>(text: string, where: Locator, format: Format<S>): z.output<S> {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  refuse(errors.map(syntaxFinding), where)
  if (root === undefined) throw new Error('no value and no error')
  const keys = keyFindings(root)
  const value: unknown = getNodeValue(root)
  const schema = format.schemaOf(value)
  const checked = schema.safeParse(value, { jitless: true })
  const issues = (checked.error?.issues ?? []).flatMap((issue) =>
    schemaFindings(issue, root, text, schema, format),
  )
  // The value has only the last of two equal keys, so a problem in it could be located wrongly.
  const isAmbiguous = (path: string) => keys.some((key) => isWithin(path, key.path))
  refuse([...keys, ...issues.filter(({ path }) => !isAmbiguous(path))], where)
  return checked.data!
}

/** A problem at a position of the text. */
interface Finding {
  /** The path in the value, e.g. `chains.build.steps[0]`. */
  readonly path: string
  readonly offset: number
  readonly text: string
}

/** The most problems that one message lists. */
const MOST_PROBLEMS = 50

function refuse(problems: readonly Finding[], where: Locator): void {
  if (problems.length === 0) return
  const inOrder = problems.toSorted((a, b) => a.offset - b.offset)
  const shown = inOrder
    .slice(0, MOST_PROBLEMS)
    .map(({ offset, text }) => `${where(offset)}  ${text}`)
  const more = problems.length - MOST_PROBLEMS
  throw new JsoncError([...new Set(shown), ...(more > 0 ? [`… and ${more} more`] : [])])
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

function schemaFindings(
  issue: z.core.$ZodIssue,
  root: Node,
  text: string,
  schema: Schema,
  {
    suggest = () => '',
    explainKey = () => undefined,
    isSecret = () => false,
  }: Pick<Format<Schema>, 'suggest' | 'explainKey' | 'isSecret'>,
): Finding[] {
  const keys = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))
  const path = renderPath(keys)
  const node = findNodeAtLocation(root, keys)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const known = knownKeys(schema, keys)
      const suggestion =
        explainKey(key, keys) ?? (didYouMean(key, known) || `; known: ${known.join(', ')}`)
      const place = renderPath([...keys, key])
      return { path: place, offset: keyOffset(node, key), text: `${place} is unknown${suggestion}` }
    })
  }
  if (node === undefined) {
    const { offset } = findNodeAtLocation(root, keys.slice(0, -1)) ?? root
    return [{ path, offset, text: `${path} is missing, expected ${issue.message}` }]
  }
  const suggestion = suggest(keys.at(-1), getNodeValue(node))
  const isHidden = node.type === 'string' && isSecret(keys)
  const found = `${path} is ${isHidden ? 'a string' : renderFound(node, text)}`
  return [{ path, offset: node.offset, text: `${found}, expected ${issue.message}${suggestion}` }]
}

function keyOffset(parent: Node | undefined, key: string): number {
  const property = parent?.children?.find((child) => child.children?.[0]?.value === key)
  return property?.offset ?? parent?.offset ?? 0
}

type Definition = z.core.$ZodTypes['_zod']['def']

/** The keys that an object at this place may have. */
function knownKeys(schema: z.core.$ZodType, path: readonly (string | number)[]): string[] {
  const { def } = schema as unknown as { readonly def: Definition }
  if (def.type === 'optional') return knownKeys(def.innerType, path)
  if (def.type === 'union') return def.options.flatMap((option) => knownKeys(option, path))
  const [key, ...deeper] = path
  if (def.type === 'object') {
    if (key === undefined) return Object.keys(def.shape)
    const part = def.shape[key]
    return part === undefined ? [] : knownKeys(part, deeper)
  }
  if (def.type === 'array') return knownKeys(def.element, deeper)
  return def.type === 'record' ? knownKeys(def.valueType, deeper) : []
}

/** Problems that the parsed value does not show: duplicate keys, and names that cannot be typed. */
function keyFindings(node: Node, keys: (string | number)[] = []): Finding[] {
  const seen = new Set<string>()
  return (node.children ?? []).flatMap((child, index) => {
    if (node.type !== 'object') return keyFindings(child, [...keys, index])
    const [key, value] = child.children ?? []
    const name = String(key?.value)
    const here = [...keys, name]
    const path = renderPath(here)
    const findings = value === undefined ? [] : keyFindings(value, here)
    const problem = seen.has(name) ? 'is defined twice' : nameProblem(name)
    seen.add(name)
    if (problem === undefined) return findings
    return [...findings, { path, offset: child.offset, text: `${path} ${problem}` }]
  })
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}.`) || path.startsWith(`${other}[`)
}

function nameProblem(name: string): string | undefined {
  if (name === '__proto__') return 'is not a valid name'
  if (name.trim() === '') return 'has an empty name'
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
