import type { ServedTool } from '../served-tool.ts'
import { cancel, push, run, send } from './change.ts'
import type { QueueDoor } from './door.ts'
import { check, inbox, queue, receive } from './read.ts'
import { asTool } from './verb.ts'

const VERBS = [push, run, receive, check, send, queue, inbox, cancel]

/** The verbs of queue and inbox as tools. */
export function queueTools(door: QueueDoor): ServedTool[] {
  return VERBS.map((verb) => asTool(verb, door))
}
