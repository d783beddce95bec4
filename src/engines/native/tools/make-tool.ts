import * as z from 'zod/mini'
import { errorCode } from '../../../base/errors.ts'
import { didYouMean } from '../../../base/nearest.ts'
import { printable } from '../../../base/terminal/printable.ts'
import { shorten, withoutCutKey } from '../../../base/shorten.ts'
import { explainSystem, fail } from './problems.ts'
import type { AgentTool, ToolAnswer, Workspace } from './tool.ts'

// Fields of inputs; each `error` completes a message after "expected".

export function textField(error: string) {
  return z.string({ error })
}

export function pathField(error = 'a path as text') {
  const isPath = (value: string) => value !== '' && !value.includes('\0')
  return textField(error).check(
    z.refine(isPath, { error: `${error} that is not empty and has no NUL` }),
  )
}

export function numberField(least: number, most = Number.MAX_SAFE_INTEGER) {
  const isOpen = most === Number.MAX_SAFE_INTEGER
  const error = `a whole number ${isOpen ? `of at least ${least}` : `from ${least} to ${most}`}`
  return z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }))
}

export function flagField() {
  return z.boolean({ error: 'true or false' })
}

interface ToolParts<S extends z.ZodMiniObject> {
  readonly name: string
  readonly description: string
  readonly schema: S
  brief(input: z.output<S>): string
  call(input: z.output<S>, workspace: Workspace, signal: AbortSignal): Promise<ToolAnswer>
}

const LONGEST_BRIEF = 100
const LONGEST_VALUE = 60

/** A tool with validated input; system errors become answers, other exceptions are thrown. */
export function makeTool<S extends z.ZodMiniObject>(parts: ToolParts<S>): AgentTool {
  const { name, description, schema } = parts
  return {
    name,
    description,
    inputSchema: schemaOf(schema),
    brief: (input) => {
      const { data } = parseInput(schema, input)
      return data === undefined ? name : shorten(printable(parts.brief(data)), LONGEST_BRIEF)
    },
    call: async (input, workspace, signal) => {
      const { data, error } = parseInput(schema, input)
      if (error !== undefined)
        return fail(`Wrong input for ${name}: ${explain(error, input, schema)}`)
      try {
        return await parts.call(data, workspace, signal)
      } catch (thrown) {
        if (errorCode(thrown) === undefined) throw thrown
        return fail(`${name} failed: ${explainSystem(thrown)}.`)
      }
    },
  }
}

function schemaOf(schema: z.ZodMiniObject): AgentTool['inputSchema'] {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    override: ({ jsonSchema }) => {
      // This maximum means nothing to a model and would be sent with every request.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return rest
}

function parseInput<S extends z.ZodMiniObject>(schema: S, input: unknown) {
  return schema.safeParse(withoutNulls(input), { jitless: true })
}

/** Some models write null for absent fields. */
export function withoutNulls(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return input
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null))
}

function explain({ issues }: z.core.$ZodError, input: unknown, schema: z.ZodMiniObject): string {
  return `${issues.map((issue) => explainIssue(issue, input, schema)).join('; ')}.`
}

function explainIssue(issue: z.core.$ZodIssue, input: unknown, schema: z.ZodMiniObject): string {
  if (issue.code === 'unrecognized_keys') {
    const known = issue.path.length === 0 ? Object.keys(schema.def.shape) : []
    const remarks = issue.keys.map(
      (key) => `${placeOf([...issue.path, key])} is unknown${suggestion(key, known)}`,
    )
    return remarks.join('; ')
  }
  const found = valueAt(input, issue.path)
  if (issue.path.length === 0) return `it is ${describeValue(found)}, expected an object`
  const is = found === undefined || found === null ? 'missing' : describeValue(found)
  return `${placeOf(issue.path)} is ${is}, expected ${issue.message}`
}

function suggestion(key: string, known: readonly string[]): string {
  if (known.length === 0) return ''
  return didYouMean(key, known) || `, known: ${known.join(', ')}`
}

function placeOf(path: readonly PropertyKey[]): string {
  const parts = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  return printable(parts.join('').replace(/^\./, ''))
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    input,
  )
}

function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length <= LONGEST_VALUE
    ? text
    : `${withoutCutKey(text.slice(0, LONGEST_VALUE).toWellFormed())}…`
}
