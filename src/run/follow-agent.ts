import type { Launch } from '../engines/engine.ts'
import type { Outcome, Refusal, Usage } from '../events/schema.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import type { Family } from './family.ts'
import type { Words } from './last-words.ts'
import { Listener } from './listener.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { startProcess } from './process.ts'
import type { Spending } from './spending.ts'
import { hasReadyTasks } from './task-check.ts'
import { Verdict } from './verdict.ts'

/** What starting an agent once has come to. */
export interface Turned {
  readonly outcome: Outcome
  /** What it would have come to without its marker. */
  readonly unmarked: Outcome
  readonly outputBytes: number
  readonly refusal?: Refusal | undefined
  readonly usage?: Usage | undefined
  /** Its last words. */
  readonly said: Words
}

/** What belongs to one turn alone. */
interface Following {
  readonly place: Place
  readonly env: Record<string, string>
  /** What it may spend. */
  readonly left: Budget
  readonly stop: AbortSignal
}

interface Surroundings {
  readonly ports: Ports
  readonly family: Family
  readonly spending: Spending
}

/** Starts the process of an agent; what it says goes to the decoders and to the outside. */
export function followAgent(
  launch: Launch,
  step: StepNode,
  { place, env, left, stop }: Following,
  { ports, family, spending }: Surroundings,
): { readonly pid: number; readonly end: Promise<Turned> } {
  const verdict = new Verdict()
  const purse = spending.open(place, left)
  const { timeoutMs, idleMs, grace } = step.policy
  const { pid, finished } = startProcess(launch, {
    cwd: step.cwd,
    env: { ...env, ...launch.env },
    grace,
    limits: { timeoutMs, idleMs, budget: purse.spent },
    stop,
    force: ports.force,
    enough: Promise.race([markerToBelieve(verdict.marker, step, ports), verdict.blocked]),
    take: (stream, bytes) => listener.hear(stream, bytes),
  })
  // Made while the process begins: nobody can have said anything yet.
  const listener = new Listener(launch, place, verdict, ports, (usage) => purse.look(usage))
  const over = family.whileAlive(pid, finished).finally(() => {
    listener.close()
    purse.close()
  })
  const end = over.then((exit) => {
    listener.end()
    const { refusal, usage } = verdict
    const { outputBytes, lastWords: said } = listener
    const unmarked = verdict.unmarked(exit)
    return { outcome: verdict.outcome(exit), outputBytes, refusal, usage, unmarked, said }
  })
  return { pid, end }
}

/** Settles when an agent has said all: a marker that will not be believed does not end its work. */
async function markerToBelieve(
  marker: Promise<void>,
  step: StepNode,
  { tasks }: Ports,
): Promise<void> {
  await marker
  if (hasReadyTasks(step, tasks)) await new Promise(() => undefined)
}
