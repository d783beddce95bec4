// The small variant loads in a third of the time, and we write the error messages ourselves.
import * as z from 'zod/mini'

// Each `error` follows "expected" in a message; base/jsonc.ts adds the place and the value found.
// Descriptions end up in the JSON Schema that editors show.

/** Adds a description without the copy that `z.describe` would make. */
export function described<Schema extends z.ZodMiniType>(
  description: string,
  schema: Schema,
): Schema {
  z.globalRegistry.add(schema, { description })
  return schema
}

export const field = <Schema extends z.ZodMiniType>(description: string, schema: Schema) =>
  z.optional(described(description, schema))

/** Each pattern comes with what is expected instead. */
export const string = (error = 'a string', ...patterns: readonly (readonly [RegExp, string])[]) =>
  z.string({ error }).check(
    z.refine((value) => !value.includes('\0'), { error: 'a string without NUL characters' }),
    ...patterns.map(([pattern, expected]) => z.regex(pattern, { error: expected })),
  )

export const text = (description: string) => field(description, string())

export const texts = (description: string) =>
  field(description, z.array(string(), { error: 'a list of strings' }))

export const flag = (description: string) =>
  field(description, z.boolean({ error: 'true or false' }))

/** A whole number. */
export const whole = (
  description: string,
  error = 'a positive integer',
  least = 1,
  most = Number.MAX_SAFE_INTEGER,
) =>
  field(
    description,
    z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error })),
  )

export const agentName = described(
  'Name or path of the agent.',
  string('a string', [/^[^-]/, "the name or path of an agent, not beginning with '-'"]),
)
