import { randomLetters } from '../base/ids.ts'
import type { LoopLaunch } from '../engines/engine.ts'
import type { AgentIo } from '../native/io.ts'
import type { Executed, ExecOptions, Workplace } from '../native/tools/tool.ts'
import type { StepNode } from '../plan/plan.ts'
import type { QueueDoor } from '../verbs/door.ts'
import { SpawnError, type Exit } from './child.ts'
import { leftoverWords, TASK_PATH, treeOf, endProcesses, type Family } from './family.ts'
import type { LoopHands } from './loop.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import { startProcess, type Cut } from './process.ts'

/** What a turn of the built-in agent has around it. */
export interface NativeTurn {
  readonly step: StepNode
  readonly place: Place
  readonly env: Readonly<Record<string, string>>
  readonly left: AgentIo['left']
  readonly queue: QueueDoor | undefined
  readonly ports: Ports
  readonly family: Family
}

/** Begins a turn of the built-in agent; its library is loaded only now. */
export async function* beginNative(launch: LoopLaunch, turn: NativeTurn, hands: LoopHands) {
  const { runAgent } = await import('../native/run-agent.ts')
  yield* runAgent(launch, makeIo(turn, hands), hands.end)
}

/** What the agent gets from us. */
export function makeIo(turn: NativeTurn, { spent, alive, end }: LoopHands): AgentIo {
  const { env, left, ports, place, queue } = turn
  const path = ports.conversation?.(place)
  const mask = ports.mask ?? ((data) => data)
  return {
    env,
    workplace: workplaceOf(turn, alive, end),
    keeping: path === undefined ? undefined : { path, mask, env },
    // What is repeated goes on; a task that is tried again begins with an empty context.
    mayGoOn: place.attempt > 1 && place.task === undefined ? 'answered' : 'never',
    left,
    spent,
    queue,
    alive,
  }
}

function workplaceOf(turn: NativeTurn, alive: () => void, end: AbortSignal): Workplace {
  const { cwd, reading } = turn.step
  return {
    cwd,
    roots: reading?.roots ?? [],
    exec: (command, options) => {
      const take = (bytes: Uint8Array) => {
        alive()
        options.take(bytes)
      }
      return execute(
        command,
        { ...options, take, signal: AbortSignal.any([options.signal, end]) },
        turn,
      )
    },
  }
}

/** A command of the agent, watched over like any other; nothing that it started outlives it. */
async function execute(
  command: string,
  { timeoutMs, signal, take }: ExecOptions,
  { step, env, ports, family }: NativeTurn,
): Promise<Executed> {
  const key = `x-${randomLetters(12)}`
  const path = [env[TASK_PATH], key].filter(Boolean).join(':')
  const launch = { kind: 'process' as const, argv: ['/bin/sh', '-c', command], env: {} }
  try {
    const { pid, finished } = startProcess(
      { ...launch, decode: () => undefined },
      {
        cwd: step.cwd,
        env: { ...env, [TASK_PATH]: path },
        grace: { markerMs: 0, termMs: TERM_MS },
        limits: { timeoutMs },
        stop: signal,
        force: ports.force,
        take: (_, bytes) => take(bytes),
      },
    )
    const end = await family.whileAlive(pid, endWithTree(pid, finished, signal, ports))
    await tellLeftovers(key, ports, family)
    return asExecuted(end)
  } catch (error) {
    if (error instanceof SpawnError) return { kind: 'failed', error: error.message }
    throw error
  }
}

/** Whoever asked for it wants to know soon. */
const TERM_MS = 2000

async function endWithTree<End>(
  pid: number,
  finished: Promise<End>,
  signal: AbortSignal,
  { force }: Ports,
): Promise<End> {
  const tree = treeOf(pid)
  const look = () => void tree()
  signal.addEventListener('abort', look)
  try {
    const end = await finished
    if (signal.aborted) await endProcesses(tree, force, 0)
    return end
  } finally {
    signal.removeEventListener('abort', look)
  }
}

async function tellLeftovers(key: string, { emit, force }: Ports, family: Family): Promise<void> {
  const leftovers = await family.endTask(key, force)
  if (leftovers.length === 0) return
  emit({ type: 'warning', text: `ended what a command left running: ${leftoverWords(leftovers)}` })
}

function asExecuted(end: Exit | Cut | undefined): Executed {
  if (end === undefined) return { kind: 'stopped' }
  if (end.kind === 'exited' || end.kind === 'signalled') return end
  return { kind: 'timed_out' }
}
