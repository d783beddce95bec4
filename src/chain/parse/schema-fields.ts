// The small variant loads in a third of the time, and we write the error messages ourselves.
import * as z from 'zod/mini'
import { MAX_ITERATIONS } from './dsl.ts'

// Each `error` follows "expected" in a message; base/jsonc.ts adds the place and the value found.
// Descriptions end up in the JSON Schema that editors show.

/** Whether a key occurs anywhere in a file. */
export type IsThere = (key: string) => boolean

/** Functions that make optional fields. */
export type Makers = Readonly<Record<string, () => z.ZodMiniOptional>>
export type Shape<Made extends Makers> = { [Key in keyof Made]: ReturnType<Made[Key]> }

const ABSENT = z.optional(z.never())

/** Makes only the fields that occur, because making a field takes time and most do not occur. */
export function makeShape<Made extends Makers>(makers: Made, isThere: IsThere): Shape<Made> {
  const fields = Object.entries(makers).map(([key, make]) => [key, isThere(key) ? make() : ABSENT])
  return Object.fromEntries(fields) as Shape<Made>
}

/** A description for editors, attached without the copy that `z.describe` would make. */
export const about = (description: string) => [z.globalRegistry, { description }] as const

export const isText = z.refine<string>((value) => !value.includes('\0'), {
  error: 'a string without NUL characters',
})

export const text = (description: string) =>
  z.optional(
    z
      .string({ error: 'a string' })
      .check(isText)
      .register(...about(description)),
  )

export const texts = (description: string) => {
  const item = z.string({ error: 'a string' }).check(isText)
  return z.optional(z.array(item, { error: 'a list of strings' }).register(...about(description)))
}

export const flag = (description: string) =>
  z.optional(z.boolean({ error: 'true or false' }).register(...about(description)))

export const count = (limit: number, description: string) => {
  const error =
    limit === MAX_ITERATIONS ? `a whole number from 1 to ${limit}` : 'a positive integer'
  const number = z.int({ error })
  return z.optional(
    number
      .check(z.minimum(1, { error }), z.maximum(limit, { error }))
      .register(...about(description)),
  )
}

export const agentName = z
  .string({ error: 'a string' })
  .check(
    isText,
    z.regex(/^[^-]/, { error: "the name or path of an agent, not beginning with '-'" }),
  )
  .register(...about('Name or path of the agent.'))
