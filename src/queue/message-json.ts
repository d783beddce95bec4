import type { Message } from './message.ts'
import type { NotQueued } from './task.ts'

/** A message as scripts and agents read it; `inWords` adapts hints to the reader. */
export function messageJson(message: Message, translateHint = (hint: string) => hint) {
  const { kind, from, at: ms } = message
  const inReadersWords = ({ hint, ...rest }: NotQueued) =>
    hint === undefined ? rest : { ...rest, hint: translateHint(hint) }
  const head = { kind, from, at: new Date(ms).toISOString() }
  if (message.kind === 'text')
    return { ...head, ...(message.to && { to: message.to }), body: message.body }
  const { task, attempt, end } = message
  const { cost, notQueued } = end
  const refused = notQueued === undefined ? {} : { not_queued: notQueued.map(inReadersWords) }
  if (end.success) {
    const tail = cost === undefined ? {} : { cost }
    return { ...head, task, attempt, success: true, output: end.output, ...tail, ...refused }
  }
  const { class: kindOf, error, partialOutput = '' } = end
  const rest = { error, partial_output: partialOutput, cost: cost ?? null }
  return { ...head, task, attempt, success: false, class: kindOf, ...rest, ...refused }
}
