import type { ClaudeAgent } from '../../engines/engine.ts'
import { outcomeWords } from '../../events/outcome-words.ts'
import type { EventBody } from '../../events/event.ts'
import { DEFAULT_GRACE, type Plan } from '../../plan/plan.ts'
import { readPromptText } from '../../prompt/prompt-file.ts'
import { runPlan } from '../../run/run-plan.ts'
import { makeTaskPort } from '../../setup/task-port.ts'
import { VERSION } from '../../setup/version.ts'
import { Terminal } from '../../views/terminal.ts'
import { makeIdentity } from '../identity.ts'
import { StopSwitch } from '../signals.ts'

/** The agent once: what it says and does is all that is printed, so that a chain can read it. */
export async function runHeadless(
  agent: ClaudeAgent,
  prompt: string | undefined,
  cwd: string,
  env: Record<string, string>,
): Promise<number> {
  const { run } = makeIdentity()
  const stopSwitch = new StopSwitch()
  stopSwitch.listen(() => undefined)
  const terminal = new Terminal({
    uncut: true,
    onLost: () => undefined,
    onClosed: () => stopSwitch.outputClosed('stdout was closed'),
  })
  let code = 1
  const emit = (event: EventBody) => {
    if (event.type === 'message' && event.parent === undefined) terminal.line(event.text)
    if (event.type === 'tool' && event.parent === undefined)
      terminal.line(`[${event.name}] ${event.brief}`)
    if (event.type === 'iteration_ended') code = tellEnd(event, terminal)
    if (event.type === 'run_ended' && event.stopped !== undefined) code = event.exitCode
  }
  await runPlan(makePlan(run, cwd, agent, prompt), {
    emit,
    output: ({ stream, bytes, isTold }) =>
      isTold === true ? undefined : terminal.bytes(stream, bytes),
    readPrompt: readPromptText,
    tasks: makeTaskPort(cwd, run),
    env,
    stop: stopSwitch.stop,
    force: stopSwitch.force,
    ownsDescendants: false,
    version: VERSION,
  })
  await terminal.close(stopSwitch)
  return code
}

function tellEnd(
  { outcome }: Extract<EventBody, { type: 'iteration_ended' }>,
  terminal: Terminal,
): number {
  if (outcome.kind === 'spawn_failed') terminal.warn(outcome.error)
  const isFine = outcome.kind === 'exited' && outcome.code === 0 && outcome.error === undefined
  if (isFine || outcome.kind === 'marker') return 0
  const words = outcomeWords(outcome)
  if (words !== '') terminal.warn(words)
  return outcome.kind === 'exited' && outcome.code !== 0 ? outcome.code : 1
}

function makePlan(run: string, cwd: string, agent: ClaudeAgent, prompt: string | undefined): Plan {
  return {
    run,
    cwd,
    root: {
      kind: 'sequence',
      id: 'root',
      of: [
        {
          kind: 'step',
          id: 's1',
          number: 1,
          agent,
          cwd,
          args: [],
          prompt: prompt === undefined ? [] : [{ level: 'command line', text: [prompt] }],
          grace: DEFAULT_GRACE,
        },
      ],
    },
  }
}
