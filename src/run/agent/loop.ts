import { firstCause } from '../../base/first-cause.ts'
import type { Fact } from '../../engines/engine.ts'
import type { Exit } from '../process/child.ts'
import { cutBy, type Cut, type Supervision } from '../process/process.ts'
import { IdleTimer } from '../process/idle-timer.ts'

/** What it takes to supervise a native agent, which has no process. */
interface LoopSupervision extends Omit<Supervision, 'cwd' | 'env' | 'take'> {
  /** Gets the facts in order; a promise makes the agent wait. */
  readonly take: (fact: Fact) => void | Promise<void>
}

/** What a native agent gets from its supervisor. */
export interface LoopDelivery {
  /** Aborts when the agent must end at once. */
  readonly end: AbortSignal
  /** Aborts, with a `BudgetSpent` as its reason: one last answer is allowed. */
  readonly spent: AbortSignal
  /** Resets the idle timeout. */
  readonly alive: () => void
}

/** Supervises a native agent like a process; undefined if the run was stopped first. */
export async function followLoop(
  begin: (delivery: LoopDelivery) => AsyncIterable<Fact>,
  supervision: LoopSupervision,
): Promise<Exit | Cut | undefined> {
  const { limits, grace, force } = supervision
  const idleTimer = new IdleTimer(limits.idleMs)
  const [end, spent] = [new AbortController(), new AbortController()]
  const alive = () => void idleTimer.resetFor(() => undefined)
  const facts = begin({ end: end.signal, spent: spent.signal, alive })
  const exited = pump(facts, (fact) => idleTimer.resetFor(() => supervision.take(fact)))
  try {
    const cause = await waitForEnd(exited, idleTimer, spent, supervision)
    if (cause === 'exit') return await exited
    end.abort()
    await firstCause({ exited, late: grace.termMs, force })
    const cut = cutBy(cause, limits)
    if (cause === 'stop' || cut !== undefined) return cut
    return { kind: 'exited', code: 0 }
  } finally {
    idleTimer.end()
    end.abort()
  }
}

/** A failure that the agent reports becomes an exit code; a bug is thrown. */
async function pump(
  facts: AsyncIterable<Fact>,
  take: (fact: Fact) => void | Promise<void>,
): Promise<Exit> {
  let hasFailed = false
  for await (const fact of facts) {
    if (fact.type === 'failure') hasFailed = fact.failure !== undefined
    await take(fact)
  }
  return { kind: 'exited', code: hasFailed ? 1 : 0 }
}

async function waitForEnd(
  exited: Promise<Exit>,
  idleTimer: IdleTimer,
  spent: AbortController,
  { enough, grace, limits, stop }: LoopSupervision,
): Promise<'exit' | 'stop' | 'late' | 'timeout' | 'idle' | 'budget'> {
  const { timeoutMs: timeout, budget } = limits
  const ends = { exit: exited, stop, timeout, idle: idleTimer.expired }
  const cause = await firstCause({ ...ends, enough, budget })
  if (cause === 'enough') return firstCause({ exit: exited, stop, late: grace.markerMs })
  if (cause !== 'budget') return cause
  spent.abort(budget!.reason)
  const then = await firstCause({ exit: exited, stop, late: grace.markerMs })
  return then === 'late' ? 'budget' : then
}
