import { dropUndefined } from '../../base/objects.ts'
import type { CallPart, ResultEntry } from './conversation/entry.ts'
import { fail } from './tools/problems.ts'
import type { ToolAnswer } from './tools/tool.ts'

const NO_JSON = 'The input of the call is not valid JSON.'
const CUT =
  'The call was not made: your answer was cut off at the output limit before it was complete. Use smaller steps, for example write a part of the file and add the rest with edit.'

/** For a call with invalid input; `finish` is why the answer ended. */
export function unreadableCall(finish: string): ToolAnswer {
  return fail(finish === 'length' ? CUT : NO_JSON)
}

export function unknownTool(name: string, known: readonly string[]): ToolAnswer {
  const list = known.length === 0 ? 'none' : known.join(', ')
  return fail(`There is no tool '${name}'. Your tools: ${list}.`)
}

export function resultOf(
  { id, name }: CallPart,
  { text, isError, diff, seen }: ToolAnswer,
): ResultEntry {
  return { type: 'result', id, name, text, ...dropUndefined({ isError, diff, seen }) }
}

const LONGEST_ERROR = 200

/** The last line of a failed command says how it ended; of other errors the first line is best. */
export function errorLine(text: string): string {
  const lines = text.trim().split('\n')
  const last = lines.at(-1)!
  const line = /^\[.*\]$/.test(last) ? last.slice(1, -1) : lines[0]!
  return line.slice(0, LONGEST_ERROR)
}
