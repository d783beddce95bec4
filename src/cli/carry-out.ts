import { errorCode, errorText } from '../base/errors.ts'
import type { EventBody, Stamp } from '../events/event.ts'
import { NO_EVENTS, next } from '../events/state.ts'
import { recordRoot } from '../journal/record-folder.ts'
import { RunRecord } from '../journal/run-record.ts'
import type { Plan } from '../plan/plan.ts'
import { readPromptText } from '../prompt/prompt-file.ts'
import { adoptOrphans } from '../run/libc.ts'
import { runPlan } from '../run/run-plan.ts'
import { JsonView } from '../views/json.ts'
import { PlainView } from '../views/plain.ts'
import { StopSwitch } from './signals.ts'
import { Terminal } from './terminal.ts'
import { VERSION } from './version.ts'

interface Options {
  readonly env: Readonly<Record<string, string>>
  readonly stamp: Stamp
  readonly verbose: boolean
  readonly json: boolean
}

/** Runs a plan in front of a person or a script: view, record and signals around `runPlan`. */
export async function carryOut(
  plan: Plan,
  warnings: readonly string[],
  { env, stamp, verbose, json }: Options,
): Promise<number> {
  const stopSwitch = new StopSwitch()
  stopSwitch.listen()
  const terminal = new Terminal({
    uncut: verbose,
    onClosed: (error) => {
      // A reader that has gone is no news to the person who closed it.
      if (errorCode(error) !== 'EPIPE') {
        terminal.warn(`[forkhestra] Error: stdout cannot be written: ${errorText(error)}`)
      }
      stopSwitch.outputClosed()
    },
  })
  const view = json ? new JsonView(terminal, stamp) : new PlainView(terminal, verbose)
  const record = new RunRecord(recordRoot(plan.cwd, process.env), plan.run, stamp)
  let state = NO_EVENTS
  const emit = (body: EventBody) => {
    const event = stamp(body)
    state = next(state, event)
    record.append(event)
    view.show(event)
    const trouble = record.takeTrouble()
    if (trouble !== undefined) emit({ type: 'warning', text: trouble })
  }
  for (const text of warnings) emit({ type: 'warning', text: `Warning: ${text}` })
  adoptOrphans()
  await runPlan(plan, {
    emit,
    output: (chunk) => {
      record.output(chunk)
      return view.output(chunk)
    },
    readPrompt: readPromptText,
    env,
    stop: stopSwitch.stop,
    force: stopSwitch.force,
    ownsDescendants: true,
    record: record.folder,
    version: VERSION,
    verbose,
  })
  record.close()
  await terminal.close()
  return state.ended?.exitCode ?? 1
}
