import { errorCode, errorText } from '../base/errors.ts'
import type { EventBody, EventOf, Stamp } from '../events/event.ts'
import { NO_EVENTS, next } from '../events/state.ts'
import { recordRoot } from '../journal/record-folder.ts'
import { RunRecord } from '../journal/run-record.ts'
import { DEFAULT_GRACE, type Plan } from '../plan/plan.ts'
import { readPromptText } from '../prompt/prompt-file.ts'
import { adoptOrphans } from '../run/libc.ts'
import { runPlan } from '../run/run-plan.ts'
import { endIteration } from '../tasks/claims/dead-claims.ts'
import { findPlaces, type Places } from '../tasks/store/places.ts'
import { JsonView } from '../views/json.ts'
import { PlainView } from '../views/plain.ts'
import { StopSwitch } from './signals.ts'
import { Terminal } from '../views/terminal.ts'
import { VERSION } from '../setup/version.ts'

/** How often the record is brought up to date while nothing but output happens. */
const FLUSH_MS = 1000

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
  const terminal = new Terminal({
    uncut: verbose,
    onLost: (error) => emit({ type: 'warning', text: `output is lost: ${errorText(error)}` }),
    onClosed: (error) => {
      const words =
        errorCode(error) === 'EPIPE' ? 'stdout was closed' : `stdout: ${errorText(error)}`
      // A reader that has gone is no news to the person who closed it.
      if (errorCode(error) !== 'EPIPE') terminal.warn(`[forkhestra] Error: ${words}`)
      stopSwitch.outputClosed(words)
    },
  })
  stopSwitch.listen((signal) => {
    const seconds = DEFAULT_GRACE.termMs / 1000
    const words =
      signal === 'SIGQUIT'
        ? 'everything is killed'
        : `the agent has ${seconds} s to end; a second signal kills it at once`
    terminal.warn(`[forkhestra] ${signal}: ${words}`)
  })
  const view = json ? new JsonView(terminal, stamp) : new PlainView(terminal, verbose)
  const record = new RunRecord(recordRoot(plan.cwd, process.env), plan.run, stamp)
  const tasks = findPlaces(plan.cwd)
  let state = NO_EVENTS
  const emit = (body: EventBody) => {
    const event = stamp(body)
    state = next(state, event)
    record.append(event)
    view.show(event)
    if (event.type === 'iteration_ended') endClaims(event, tasks)
    tellTrouble()
  }
  const tellTrouble = () => {
    const why = record.takeTrouble()
    if (why !== undefined) emit({ type: 'record_lost', why })
  }
  for (const text of warnings) emit({ type: 'warning', text })
  adoptOrphans()
  const flushing = setInterval(() => {
    record.flush()
    tellTrouble()
  }, FLUSH_MS)
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
  })
  clearInterval(flushing)
  record.close()
  const trouble = record.takeTrouble()
  if (trouble !== undefined) view.show(stamp({ type: 'record_lost', why: trouble }))
  await terminal.close(stopSwitch)
  return state.ended?.exitCode ?? 1
}

/** A task that an iteration took and did not finish is free for the next one. */
function endClaims(event: EventOf<'iteration_ended'>, tasks: Places): void {
  const { run, step, iteration, outcome } = event
  const by = { id: run, step: String(step), iteration: String(iteration) }
  try {
    endIteration(tasks, by, outcome.kind, new Date())
  } catch {
    // The claim of a run that is gone frees itself; nothing is lost but time.
  }
}
