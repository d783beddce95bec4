import type { QueueDoor } from '../../verbs/door.ts'
import { VERBS } from '../../verbs/verbs.ts'
import type { ServedTool } from '../served-tool.ts'
import { asTool } from './verb.ts'

/** The verbs of queue and inbox as tools. */
export function queueTools(door: QueueDoor): ServedTool[] {
  return VERBS.map((verb) => asTool(verb, door))
}
