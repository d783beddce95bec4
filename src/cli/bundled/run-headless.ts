import { outcomeWords } from '../../events/outcome-words.ts'
import { makeStamp, type EventBody } from '../../events/event.ts'
import { next, NO_EVENTS } from '../../events/state.ts'
import type { Plan } from '../../plan/plan.ts'
import { readPromptText } from '../../prompt/prompt-file.ts'
import { NO_CONTROL } from '../../run/ports.ts'
import { runPlan } from '../../run/run-plan.ts'
import { makeTaskPort } from '../../setup/task-port.ts'
import { VERSION } from '../../setup/version.ts'
import { Terminal } from '../../views/terminal.ts'
import { StopSwitch } from '../signals.ts'

/** A plan of one agent: what it says and does is all that is printed. */
export async function runHeadless(plan: Plan, env: Record<string, string>): Promise<number> {
  const stopSwitch = new StopSwitch()
  stopSwitch.listen(() => undefined)
  const terminal = new Terminal({
    env: process.env,
    uncut: true,
    onLost: () => undefined,
    onClosed: () => stopSwitch.outputClosed('interrupted by a closed stdout'),
  })
  const stamp = makeStamp(plan.run, '')
  let state = NO_EVENTS
  let code = 1
  let told = ''
  const tell = () => {
    const text = told
    told = ''
    return terminal.bytes('out', Buffer.from(text))
  }
  await runPlan(plan, {
    emit(body) {
      const event = stamp(body)
      state = next(state, event)
      told += wordsOf(event)
      if (event.type === 'iteration_ended') code = tellEnd(event, terminal)
      if (event.type === 'run_ended' && event.stopped !== undefined) code = event.exitCode
      return event
    },
    state: () => state,
    keepPrompt: () => undefined,
    control: NO_CONTROL,
    output: ({ stream, bytes, isTold }) =>
      isTold === true ? tell() : terminal.bytes(stream, bytes),
    readPrompt: readPromptText,
    tasks: makeTaskPort(plan.cwd, plan.run, env),
    env,
    stop: stopSwitch.stop,
    force: stopSwitch.force,
    ownsDescendants: false,
    version: VERSION,
  })
  await tell()
  await terminal.close(stopSwitch)
  return code
}

function wordsOf(event: EventBody): string {
  if (event.type === 'message' && event.parent === undefined) return `${event.text}\n`
  if (event.type === 'tool' && event.parent === undefined) return `[${event.name}] ${event.brief}\n`
  return ''
}

function tellEnd(
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
  const words = outcomeWords(outcome)
  if (words !== '') terminal.warn(words)
  return outcome.kind === 'exited' && outcome.code !== 0 ? outcome.code : 1
}
