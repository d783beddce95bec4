import * as z from 'zod/mini'
import { parseDuration } from '../base/durations.ts'
import { UserError, tryOr } from '../base/errors.ts'

// Each `error` completes a message after "expected": see base/jsonc.ts.

const text = z.string({ error: 'a string' })

const whole = (least: number, most: number) => {
  const error = `a whole number from ${least} to ${most}`
  return z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }))
}

const ms = z.optional(whole(0, 3_600_000))
const tokens = whole(0, 100_000_000)

const toolSchema = z.strictObject(
  {
    name: text.check(z.minLength(1, { error: 'the name of a tool' })),
    input: z.record(z.string(), z.unknown(), { error: 'an object: the input of the tool' }),
  },
  { error: 'an object such as { "name": "Bash", "input": { "command": "ls" } }' },
)

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  const isHeader = ([name, value]: [string, string]) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value)
  return Object.entries(headers).every(isHeader)
}

const headers = z.optional(
  z
    .record(z.string(), text, { error: 'an object that maps names to strings' })
    .check(z.refine(areHeaders, { error: 'valid HTTP header names and values' })),
)

const errorSchema = z.strictObject(
  {
    status: whole(400, 599),
    type: z.optional(text),
    message: z.optional(text),
    headers,
  },
  { error: 'an object such as { "status": 429 }' },
)

const usageSchema = z.strictObject(
  {
    input: tokens,
    output: tokens,
    cacheRead: z.optional(tokens),
    cacheWrite: z.optional(tokens),
  },
  { error: 'an object such as { "input": 100, "output": 20 }' },
)

const limit = z.optional(
  text.check(z.refine(isDuration, { error: 'the time until the limit is reset: 20s, 5h, 7d' })),
)

function isDuration(value: string): boolean {
  try {
    return parseDuration(value, 'limit') >= 0
  } catch (error) {
    if (error instanceof UserError) return false
    throw error
  }
}

const ANSWERS = ['text', 'thinking', 'tool', 'tools', 'drop', 'error', 'limit'] as const
const turnSchema = z
  .strictObject(
    {
      thinking: z.optional(text),
      text: z.optional(text),
      tool: z.optional(toolSchema),
      tools: z.optional(z.array(toolSchema, { error: 'a list of tool calls' })),
      drop: z.optional(z.literal(true, { error: 'true' })),
      error: z.optional(errorSchema),
      limit,
      delayMs: ms,
      chunkDelayMs: ms,
      usage: z.optional(usageSchema),
      stopReason: z.optional(text),
      headers,
    },
    { error: 'an object such as { "text": "Done." }' },
  )
  .check(
    z.refine((turn) => ANSWERS.some((key) => turn[key] !== undefined), {
      error: 'an answer: "text", "thinking", "tool", "tools", "drop", "error" or "limit"',
    }),
    z.refine(
      (turn) =>
        (turn.error ?? turn.limit) === undefined ||
        ANSWERS.filter((key) => key in turn).length === 1,
      {
        error: 'either "error" or "limit" alone, or an answer without them',
      },
    ),
    z.refine((turn) => turn.tool === undefined || turn.tools === undefined, {
      error: 'either "tool" or "tools", not both',
    }),
  )

const turns = listOf(turnSchema, 'turn', 'a list of turns')

function listOf<Item extends z.core.SomeType>(item: Item, name: string, error: string) {
  return z.array(item, { error }).check(z.minLength(1, { error: `at least one ${name}` }))
}

const pattern = z.optional(text.check(z.refine(isRegExp, { error: 'a regular expression' })))

function isRegExp(source: string): boolean {
  return tryOr(false, () => new RegExp(source, 'u') instanceof RegExp)
}

const conversationSchema = z
  .strictObject(
    {
      when: z.optional(
        z.strictObject(
          { system: pattern, prompt: pattern },
          { error: 'an object with "system", "prompt" or both' },
        ),
      ),
      turns: z.optional(turns),
      sessions: z.optional(
        listOf(turns, 'session', 'a list of lists of turns, one for each session'),
      ),
      repeat: z.optional(z.boolean({ error: 'true or false' })),
    },
    { error: 'an object with "turns" or "sessions"' },
  )
  .check(
    z.refine(({ turns: flat, sessions }) => (flat === undefined) !== (sessions === undefined), {
      error: 'either "turns" or "sessions"',
    }),
  )

/** The short form: one list whose turns answer all requests in order. */
export const listSchema = listOf(
  turnSchema,
  'turn',
  'a list of turns, or an object with "conversations"',
)

export const scriptSchema = z.strictObject({
  conversations: listOf(conversationSchema, 'conversation', 'a list of conversations'),
})

export type ScriptedTool = z.infer<typeof toolSchema>
export type ScriptedTurn = z.infer<typeof turnSchema>
export type ErrorTurn = z.infer<typeof errorSchema>
/** What a script file holds. */
export type ScriptSource = z.infer<typeof listSchema> | z.infer<typeof scriptSchema>
