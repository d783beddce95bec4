import type { CallToolResult } from '@modelcontextprotocol/server'
import type { QueueDoor, Seat } from '../../verbs/door.ts'
import type { Verb } from '../../verbs/verb.ts'
import { answer, refuse, type Call, type ServedTool } from '../served-tool.ts'

export function asTool(verb: Verb, door: QueueDoor): ServedTool {
  const { name, description, input, isReading } = verb
  return {
    name,
    description,
    input,
    isReading,
    async call(given, call) {
      try {
        const agent = verb.agentOf?.(given)
        if (agent !== undefined) await door.checkAgent(agent)
        return await callVerb(verb, given, call, door)
      } catch (error) {
        return refuse(error)
      }
    },
  }
}

/** Answers first: the desk is left only when it is known whether the messages have arrived. */
function callVerb(
  verb: Verb,
  input: Parameters<ServedTool['call']>[0],
  call: Call,
  door: QueueDoor,
): Promise<CallToolResult> {
  const { promise, resolve, reject } = Promise.withResolvers<CallToolResult>()
  const say = (json: object) => resolve(answer(JSON.stringify(json)))
  const work = async (seat: Seat) => {
    const { json, delivery } = await verb.run(input, seat, call)
    if (delivery === undefined || delivery.messages.length === 0) return say(json)
    const taken = call.isTaken()
    say(json)
    if (!(await taken)) return
    const lost = await delivery.acknowledge()
    if (lost.length === 0) return
    const names = lost.map(({ from, id }) => `${from} (${id})`).join(', ')
    door.warn(`messages were no longer the reader's when it took them: ${names}`)
  }
  const makes = verb.makes === true ? 'makes' : 'looks'
  door.use(makes, work, () => say(verb.nothing())).catch(reject)
  return promise
}
