import * as z from 'zod/mini'
import { parseJson } from '../base/json.ts'

const index = z.int().check(z.minimum(0))

const markSchema = z.object({
  conversation: index,
  list: index,
  turn: index,
  session: z.string(),
})

/** That a turn was answered whole: its place in the script, and to whom. */
export type Mark = z.infer<typeof markSchema>

/** Undefined where a line is torn, or anything else. */
export function parseMark(line: string): Mark | undefined {
  try {
    return markSchema.safeParse(parseJson(line)).data
  } catch {
    return undefined
  }
}
