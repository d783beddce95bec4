import { quoterInside } from '../engines/marker/line-quoter.ts'
import type { FrontEnd } from '../host/front-end.ts'
import { openProject } from '../host/project.ts'
import { runSession, type ReadyRun, type Session } from '../host/run-session.ts'
import { StopSwitch } from '../host/stop-switch.ts'
import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import { PlainView } from '../views/plain.ts'
import { Terminal } from '../views/terminal.ts'
import { endedBySignals } from './signals.ts'

/** What every call takes that starts agents. */
export interface SessionOptions {
  /** Shows on stdout what the command line shows with --verbose. */
  readonly verbose?: boolean | undefined
  readonly onEvent?: ((event: RunEvent) => void) | undefined
  /** A promise makes the agent wait. */
  readonly onOutput?: ((chunk: OutputChunk) => void | Promise<void>) | undefined
  /** Ends the run; the reason may be the signal that the agents get. */
  readonly signal?: AbortSignal | undefined
  /** Says that nothing is to be waited for any more. */
  readonly force?: AbortSignal | undefined
  /** False: signals to the program, and its exit, do not end the agents. */
  readonly handleSignals?: boolean | undefined
  /** Ends what a dead run has left running. */
  readonly killOrphans?: boolean | undefined
}

type Stopping = Pick<Session, 'stop' | 'force'>

/** Does the work of a run until its end, an abort or a signal. */
export function untilStopped<Result>(
  run: string,
  { signal, force, handleSignals = true }: SessionOptions,
  work: (stopping: Stopping) => Promise<Result>,
): Promise<Result> {
  const workWith = (stopSwitch: StopSwitch) =>
    work({ stop: either(stopSwitch.stop, signal), force: either(stopSwitch.force, force) })
  return handleSignals ? endedBySignals(run, workWith) : workWith(new StopSwitch())
}

function either(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? one : AbortSignal.any([one, other])
}

/** Carries a plan out for a program. */
export async function carryOut(
  ready: ReadyRun,
  { verbose, onEvent, onOutput }: SessionOptions,
  stopping: Stopping,
  how: Pick<Session, 'isRecorded' | 'work'> = {},
): Promise<RunState> {
  const { env } = ready.session
  const terminal = verbose
    ? new Terminal({
        env,
        makeQuoter: quoterInside(env),
        uncut: true,
        onClosed: () => undefined,
        onLost: () => undefined,
      })
    : undefined
  const view = terminal === undefined ? undefined : new PlainView(terminal, true)
  const state = await runSession(ready, {
    ...ready.session,
    ...stopping,
    ...how,
    ownsProcess: false,
    view: () => ({
      show: (event) => {
        view?.show(event)
        onEvent?.(event)
      },
      output: async (chunk) => {
        await view?.output(chunk)
        await onOutput?.(chunk)
      },
    }),
  })
  await terminal?.close({ stop: stopping.stop, force: stopping.stop })
  return state
}

/** A program as the host sees it: there is no user to inform or to ask. */
export function frontEndOf(
  cwd: string | undefined,
  notice: FrontEnd['notice'] = () => undefined,
): FrontEnd {
  const cwdOption = cwd === undefined ? '' : ` --cwd ${cwd}`
  const project = openProject(cwd, process.env)
  return { env: process.env, project, cwdOption, notice, confirm: async () => false }
}
