import { printable } from '../base/printable.ts'
import { stepAt, type RunState } from '../events/state.ts'
import { stepsOf, type Plan, type StepNode } from '../plan/plan.ts'

/** What an agent that runs because a step failed is told about it. */
export function failureToMend(
  { number }: StepNode,
  { root }: Plan,
  state: RunState,
): string | undefined {
  const failed = stepsOf(root).find(
    ({ policy: { onFail } }) => onFail.kind === 'run' && onFail.step === number,
  )
  if (failed === undefined) return undefined
  const { reason, detail, iterations, feedback } = stepAt(state, failed.number)
  // What an agent said may hold what no argument of a program can.
  const words = detail === undefined ? '' : `, ${printable(detail)}`
  return [
    `[forkhestra] Step ${failed.number} (${failed.name ?? failed.agent.name}) failed after`,
    `${iterations} ${iterations === 1 ? 'iteration' : 'iterations'}: ${reason}${words}.`,
    ...(feedback === undefined ? [] : [feedback]),
  ].join(' ')
}
