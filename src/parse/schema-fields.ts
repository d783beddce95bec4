// The small variant of the library: it loads in a third of the time, and the words are ours anyway.
import * as z from 'zod/mini'
import { MAX_ITERATIONS } from './dsl.ts'

// Each `error` is what a message says behind "expected"; what was found and where is added by
// base/jsonc.ts. Descriptions end up in the JSON Schema that editors show.

/** Whether a key is anywhere in a file. */
export type IsThere = (key: string) => boolean

/** Of fields that may be absent. */
export type Makers = Readonly<Record<string, () => z.ZodMiniOptional>>
export type Shape<Made extends Makers> = { [Key in keyof Made]: ReturnType<Made[Key]> }

const ABSENT = z.optional(z.never())

/** Makes the fields that are there: of fifty a file has ten, and each of them takes time. */
export function makeShape<Made extends Makers>(makers: Made, isThere: IsThere): Shape<Made> {
  const fields = Object.entries(makers).map(([key, make]) => [key, isThere(key) ? make() : ABSENT])
  return Object.fromEntries(fields) as Shape<Made>
}

/** Words for editors. To attach them as a check would make a copy of the schema. */
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
