import { firstOf } from '../base/first-of.ts'
import type { Fact } from '../engines/engine.ts'
import type { Grace } from '../plan/policy.ts'
import type { Exit } from './child.ts'
import { cutBy, type Cut, type Limits } from './process.ts'
import { Silence } from './silence.ts'

/** What watching over an agent without a process needs. */
export interface LoopSupervision {
  readonly grace: Grace
  readonly limits: Limits
  readonly stop: AbortSignal
  readonly force: AbortSignal
  /** Gets what the agent tells, in order; a promise makes it wait. */
  readonly take: (fact: Fact) => void | Promise<void>
  /** Settles when the agent has said all that is wanted: from then on it has its grace. */
  readonly enough: Promise<void>
}

/** What the agent gets: how it is told to end, and how it says that it is at work. */
export interface LoopHands {
  /** Aborts when it is to end at once. */
  readonly end: AbortSignal
  /** Aborts, with the words for it, when its budget is spent: it may say what there is. */
  readonly spent: AbortSignal
  readonly alive: () => void
}

/** Follows an agent that tells facts, as a process would be; undefined: the run was stopped before. */
export async function followLoop(
  begin: (hands: LoopHands) => AsyncIterable<Fact>,
  supervision: LoopSupervision,
): Promise<Exit | Cut | undefined> {
  const { limits, grace, force } = supervision
  const silence = new Silence(limits.idleMs)
  const [end, spent] = [new AbortController(), new AbortController()]
  const alive = () => void silence.breakFor(() => undefined)
  const facts = begin({ end: end.signal, spent: spent.signal, alive })
  const told = pump(facts, (fact) => silence.breakFor(() => supervision.take(fact)))
  try {
    const cause = await waitForEnd(told, silence, spent, supervision)
    if (cause === 'exit') return await told
    end.abort()
    await firstOf({ told, late: grace.termMs, force })
    const cut = cutBy(cause, limits)
    if (cause === 'stop' || cut !== undefined) return cut
    return { kind: 'exited', code: 0 }
  } finally {
    silence.end()
    end.abort()
  }
}

/** A mistake of our own is thrown; what the agent calls a failure is the exit code. */
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
  told: Promise<Exit>,
  silence: Silence,
  spent: AbortController,
  { enough, grace, limits, stop }: LoopSupervision,
): Promise<'exit' | 'stop' | 'late' | 'timeout' | 'idle' | 'budget'> {
  const { timeoutMs: timeout, budget } = limits
  const ends = { exit: told, stop, timeout, idle: silence.tooLong }
  const cause = await firstOf({ ...ends, enough, budget })
  if (cause === 'enough') return firstOf({ exit: told, stop, late: grace.markerMs })
  if (cause !== 'budget') return cause
  spent.abort(budget!.reason)
  const then = await firstOf({ exit: told, stop, late: grace.markerMs })
  return then === 'late' ? 'budget' : then
}
