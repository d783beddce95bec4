import * as z from 'zod/mini'
import { parseJson } from '../base/json.ts'

const index = z.int().check(z.minimum(0))

const answeredTurnSchema = z.object({
  conversation: index,
  list: index,
  turn: index,
  session: z.string(),
})

/** A turn that was sent completely: its position in the script, and the session that got it. */
export type AnsweredTurn = z.infer<typeof answeredTurnSchema>

/** Undefined if the line is incomplete or invalid. */
export function parseAnsweredTurn(line: string): AnsweredTurn | undefined {
  try {
    return answeredTurnSchema.safeParse(parseJson(line)).data
  } catch {
    return undefined
  }
}
