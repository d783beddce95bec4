// The small variant loads in a third of the time, and we write the error messages ourselves.
import * as z from 'zod/mini'

// Each `error` follows "expected" in a message; base/jsonc.ts adds the place and the value found.
// Descriptions end up in the JSON Schema that editors show.

/** Whether a key occurs anywhere in the file. */
export type IsThere = (key: string) => boolean

type Makers = Readonly<Record<string, () => z.ZodMiniType>>
export type Shape<Made extends Makers> = { [Key in keyof Made]: ReturnType<Made[Key]> }

const ABSENT = z.optional(z.never())

/** Creates only the fields that occur: creating all of them would take a seventh of a dry run. */
export function makeShape<Made extends Makers>(makers: Made, isThere: IsThere): Shape<Made> {
  const fields = Object.entries(makers).map(([key, make]) => [key, isThere(key) ? make() : ABSENT])
  return Object.fromEntries(fields) as Shape<Made>
}

/** Adds a description without the copy that `z.describe` makes. */
export function described<Schema extends z.ZodMiniType>(
  description: string,
  schema: Schema,
): Schema {
  z.globalRegistry.add(schema, { description })
  return schema
}

export const field = <Schema extends z.ZodMiniType>(description: string, schema: Schema) =>
  z.optional(described(description, schema))

/** Makes fields that differ only in their description. */
export const fieldsOf =
  <Schema extends z.ZodMiniType>(schema: Schema) =>
  (description: string) =>
    field(description, schema.clone())

const isText = z.refine<string>((value) => !value.includes('\0'), {
  error: 'a string without NUL characters',
})

/** Each pattern has a description of what is expected instead. */
export const string = (error = 'a string', ...patterns: readonly (readonly [RegExp, string])[]) =>
  z
    .string({ error })
    .check(isText, ...patterns.map(([pattern, expected]) => z.regex(pattern, { error: expected })))

export const whole = (error: string, least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }))

export const text = fieldsOf(string())
export const texts = fieldsOf(z.array(string(), { error: 'a list of strings' }))
export const flag = fieldsOf(z.boolean({ error: 'true or false' }))
export const count = fieldsOf(whole('a positive integer', 1))

export const agentName = described(
  'Name or path of the agent.',
  string('a string', [/^[^-]/, "the name or path of an agent, not beginning with '-'"]),
)
