import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { toolBrief } from '../../engines/tool-brief.ts'
import type { QueueDoor, Seat } from '../../verbs/door.ts'
import { inToolWords } from '../../verbs/tool-words.ts'
import type { Verb } from '../../verbs/verb.ts'
import { VERBS } from '../../verbs/verbs.ts'
import { withoutNulls } from './make-tool.ts'
import { failed } from './problems.ts'
import type { AgentTool, ToolAnswer } from './tool.ts'

/** The verbs of queue and inbox as tools of the built-in agent. */
export function verbTools(door: QueueDoor, alive: () => void): AgentTool[] {
  return VERBS.map((verb) => asAgentTool(verb, door, alive))
}

function asAgentTool(verb: Verb, door: QueueDoor, alive: () => void): AgentTool {
  const { $schema: _, ...inputSchema } = z.toJSONSchema(verb.input, { io: 'input' })
  return {
    name: verb.name,
    description: verb.description,
    inputSchema,
    brief: toolBrief,
    async call(given, _workplace, signal) {
      const { data, error } = verb.input.safeParse(withoutNulls(given))
      if (data === undefined) return failed(z.prettifyError(error))
      try {
        const agent = verb.agentOf?.(data)
        if (agent !== undefined) await door.checkAgent(agent)
        return await callVerb(verb, data, door, { signal, progress: alive })
      } catch (problem) {
        if (problem instanceof UserError) return refused(problem)
        throw problem
      }
    },
  }
}

/** The desk is left only when it is known whether the messages are in the conversation. */
function callVerb(
  verb: Verb,
  input: Readonly<Record<string, unknown>>,
  door: QueueDoor,
  call: Parameters<Verb['run']>[2],
): Promise<ToolAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ToolAnswer>()
  const work = async (seat: Seat) => {
    const { json, delivery } = await verb.run(input, seat, call)
    if (delivery === undefined || delivery.messages.length === 0) return resolve(said(json))
    const taken = Promise.withResolvers<boolean>()
    const onAbort = () => taken.resolve(false)
    call.signal.addEventListener('abort', onAbort)
    const take = async () => {
      taken.resolve(true)
      await using
    }
    resolve({ ...said(json), taken: take })
    if (!(await taken.promise)) return
    call.signal.removeEventListener('abort', onAbort)
    const lost = await delivery.acknowledge()
    if (lost.length > 0) door.warn(lostWords(lost))
  }
  const using = door.use(verb.makes === true ? 'makes' : 'looks', work, () => {
    resolve(said(verb.nothing()))
  })
  using.catch(reject)
  return promise
}

function lostWords(lost: readonly { readonly from: string; readonly id: string }[]): string {
  const names = lost.map(({ from, id }) => `${from} (${id})`).join(', ')
  return `messages were no longer the reader's when it took them: ${names}`
}

function said(json: object): ToolAnswer {
  return { text: JSON.stringify(json) }
}

function refused({ message, hint }: UserError): ToolAnswer {
  return failed(hint === undefined ? message : `${message}\n${inToolWords(hint)}`)
}
