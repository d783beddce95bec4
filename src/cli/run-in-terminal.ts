import { counted } from '../base/amounts.ts'
import { errorCode, errorText } from '../base/errors.ts'
import { quoterInside } from '../engines/marker/line-quoter.ts'
import { DEFAULT_GRACE } from '../chain/plan/policy.ts'
import { currentProject } from '../host/project.ts'
import { otherQueues } from '../host/records/unfinished-queues.ts'
import { runSession, type ReadyRun, type Session, type LiveRun } from '../host/run-session.ts'
import { StopSwitch } from '../host/stop-switch.ts'
import { isOnlyWaiting } from '../records/events/waits.ts'
import { recordPlaces } from '../records/journal/record-folder.ts'
import { JsonView } from '../views/json.ts'
import { PlainView } from '../views/plain.ts'
import { Terminal } from '../views/terminal.ts'
import type { Output } from '../views/view.ts'
import type { Input } from './command.ts'
import { cwdOption } from '../views/describe.ts'
import { hasScreen, notice } from './front-end.ts'
import type { LiveView } from './live-view.ts'

interface Options extends Pick<Session, 'work'> {
  readonly verbose: boolean
  readonly json: boolean
  readonly hasTitle?: boolean
  /** Whether the run is shown on the whole terminal. */
  readonly isLive?: boolean
  /** Whether queues of other runs are mentioned at the end. */
  readonly mentionsQueues?: boolean
}

/** What the command line says about the output of a run. */
export function viewOptions(
  input: Input,
): Pick<Options, 'verbose' | 'json' | 'hasTitle' | 'isLive'> {
  const json = input.flag('json')
  const isLive = input.flag('live') && !json && hasScreen()
  if (input.flag('live') && !isLive)
    notice(json ? '--json is not shown live' : 'No terminal for --live: printing plain lines')
  return {
    isLive,
    verbose: input.flag('verbose'),
    json,
    hasTitle: !input.flag('no-title'),
  }
}

/** Executes a plan until its end or a signal, and returns its exit code. */
export async function runInTerminal(ready: ReadyRun, options: Options): Promise<number> {
  const { plan, session } = ready
  const { verbose, json, work, hasTitle, isLive = false } = options
  const stopSwitch = new StopSwitch()
  const say = (words: string) => live?.say(words) ?? false
  // The folder may be gone by the end of the run.
  const here = currentProject(process.env)
  let terminal: Terminal | undefined
  let live: LiveView | undefined
  const places = recordPlaces({ folder: plan.cwd, searched: [plan.cwd] }, process.env)
  const liveView = isLive ? await import('./live-view.ts') : undefined
  const state = await runSession(ready, {
    ...session,
    stop: stopSwitch.stop,
    force: stopSwitch.force,
    ownsProcess: true,
    ring: () => terminal?.ring(),
    ...(work === undefined ? {} : { work }),
    view: (run) => {
      terminal = openTerminal(stopSwitch, { uncut: verbose, hasTitle, say }, run)
      if (json) return new JsonView(terminal, session.stamp)
      const plain = (output: Output) =>
        new PlainView(output, verbose, { state: run.state, here, live: plan.budget })
      const [root] = places.roots
      if (liveView === undefined || root === undefined) return plain(terminal)
      live = new liveView.LiveView(terminal, { ...places, roots: [root] }, plain)
      return live
    },
  })
  await live?.close()
  if (options.mentionsQueues === true && !json) {
    for (const line of await otherQueues(places, plan.run, cwdOption(plan.cwd, here)))
      terminal?.line(`[forkhestra] ${line}`)
  }
  await terminal?.close(stopSwitch)
  return state.ended?.exitCode ?? 1
}

interface TerminalOptions {
  readonly uncut: boolean
  readonly hasTitle: boolean | undefined
  /** Says something on the live screen; false if there is none. */
  readonly say: (words: string) => boolean
}

function openTerminal(
  stopSwitch: StopSwitch,
  { uncut, hasTitle = true, say }: TerminalOptions,
  run: LiveRun,
): Terminal {
  const terminal = new Terminal({
    env: process.env,
    makeQuoter: quoterInside(process.env),
    uncut,
    hasTitle,
    describeDropped: (lines) =>
      `[forkhestra] The terminal did not take ${counted(lines, 'line')}; see: forkhestra logs`,
    onLost: (error) => run.warn(`output is lost: ${errorText(error)}`),
    onClosed: (error) => {
      const words = `stdout: ${errorText(error)}`
      // The user closed the reader, so reporting it is pointless.
      const isNews = errorCode(error) !== 'EPIPE'
      if (isNews) terminal.warn(`[forkhestra] Error: ${words}`)
      stopSwitch.stopOnce(`interrupted by ${isNews ? `an error on ${words}` : 'a closed stdout'}`)
    },
  })
  stopSwitch.listen((signal) => {
    const seconds = DEFAULT_GRACE.termMs / 1000
    const gently = isOnlyWaiting(run.state)
      ? `stopping the wait and the run (${signal})`
      : `stopping (${signal}): ${seconds} s to finish; press Ctrl-C again to kill it now`
    const words = signal === 'SIGQUIT' ? `killing everything (${signal})` : gently
    if (!say(words)) terminal.warn(`[forkhestra] ${words}`)
  })
  return terminal
}
