import type { Message } from './message.ts'

/** A message as scripts and agents read it. */
export function messageJson(message: Message) {
  const { kind, from, at: ms } = message
  const head = { kind, from, at: new Date(ms).toISOString() }
  if (message.kind === 'text')
    return { ...head, ...(message.to && { to: message.to }), body: message.body }
  const { task, attempt, end } = message
  const { cost } = end
  if (end.success) {
    const tail = cost === undefined ? {} : { cost }
    return { ...head, task, attempt, success: true, output: end.output, ...tail }
  }
  const { class: kindOf, error, partialOutput = '' } = end
  const rest = { error, partial_output: partialOutput, cost: cost ?? null }
  return { ...head, task, attempt, success: false, class: kindOf, ...rest }
}
