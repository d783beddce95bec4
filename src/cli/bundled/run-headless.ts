import { runSession } from '../../host/run-session.ts'
import { StopSwitch } from '../../host/stop-switch.ts'
import { makeStamp, type EventBody } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { describeTool } from '../../views/describe.ts'
import { Terminal } from '../../views/terminal.ts'

/** Runs a plan of one agent and prints its messages and tool calls. */
export async function runHeadless(plan: Plan, env: Record<string, string>): Promise<number> {
  const stopSwitch = new StopSwitch()
  stopSwitch.listen(() => undefined)
  const terminal = new Terminal({
    env: process.env,
    uncut: true,
    onLost: () => undefined,
    onClosed: () => stopSwitch.stopOnce('interrupted by a closed stdout'),
  })
  let code = 1
  let pending = ''
  const flush = () => {
    const text = pending
    pending = ''
    return terminal.bytes('out', Buffer.from(text))
  }
  const show = (event: RunEvent) => {
    pending += describeEvent(event)
    if (event.type === 'iteration_ended') code = reportEnd(event, terminal)
    if (event.type === 'run_ended' && event.stopped !== undefined) code = event.exitCode
  }
  await runSession(
    { plan, warnings: [] },
    {
      env,
      stamp: makeStamp(plan.run, ''),
      stop: stopSwitch.stop,
      force: stopSwitch.force,
      ownsProcess: false,
      isRecorded: false,
      view: () => ({
        show,
        output: ({ stream, bytes, isInEvents }) =>
          isInEvents === true ? flush() : terminal.bytes(stream, bytes),
      }),
    },
  )
  await flush()
  await terminal.close(stopSwitch)
  return code
}

function describeEvent(event: EventBody): string {
  if (event.type === 'message' && event.parent === undefined) return `${event.text}\n`
  if (event.type === 'tool' && event.parent === undefined) return `${describeTool(event)}\n`
  return ''
}

function reportEnd(
  { outcome, ends }: Extract<EventBody, { type: 'iteration_ended' }>,
  terminal: Terminal,
): number {
  if (outcome.kind === 'spawn_failed') terminal.warn(outcome.error)
  const isFine = outcome.kind === 'exited' && outcome.code === 0 && outcome.error === undefined
  if (isFine && ends?.reason === 'gate_failed') {
    terminal.warn(ends.detail ?? ends.reason)
    return 1
  }
  if (isFine || outcome.kind === 'marker') return 0
  const message = describeOutcome(outcome)
  if (message !== '') terminal.warn(message)
  return outcome.kind === 'exited' && outcome.code !== 0 ? outcome.code : 1
}
