import type { LoopLaunch } from '../../engines/engine.ts'
import type { AgentIo } from '../../engines/native/io.ts'
import { randomLetters } from '../../base/ids.ts'
import type { Executed, ExecOptions, Workspace } from '../../engines/native/tools/tool.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import type { LoopDelivery } from './loop.ts'
import { warnerFor, type Place } from '../place.ts'
import type { Ports } from '../ports.ts'
import { SpawnError } from '../process/child.ts'
import {
  describeLeftovers,
  endWithTree,
  TASK_PATH,
  type RunProcesses,
} from '../process/run-processes.ts'
import { shellLaunch, startProcess } from '../process/process.ts'

/** The context of one turn of the built-in agent. */
export interface NativeTurn {
  readonly step: StepNode
  readonly place: Place
  readonly env: Readonly<Record<string, string>>
  readonly left: AgentIo['left']
  readonly queue: QueueProvider | undefined
  readonly ports: Ports
  readonly processes: RunProcesses
}

/** Starts a turn of the built-in agent, whose library is loaded on demand. */
export async function* beginNative(launch: LoopLaunch, turn: NativeTurn, delivery: LoopDelivery) {
  const { runAgent } = await import('../../engines/native/run-agent.ts')
  yield* runAgent(launch, makeIo(turn, delivery), delivery.end)
}

export function makeIo(turn: NativeTurn, { spent, alive, end }: LoopDelivery): AgentIo {
  const { env, left, place, queue } = turn
  return {
    env,
    workspace: workspaceOf(turn, alive, end),
    storage: storageOf(turn),
    resumePolicy: resumePolicy(place),
    left,
    spent,
    queue,
    alive,
  }
}

function storageOf({ ports, place, env }: NativeTurn): AgentIo['storage'] {
  const path = ports.conversation(place)
  if (path === undefined) return undefined
  const before = Array.from({ length: place.attempt - 1 }, (_, index) => index + 1).toReversed()
  const earlier = before.flatMap((attempt) => ports.conversation({ ...place, attempt }) ?? [])
  return { path, mask: ports.mask, env, earlier }
}

/** A repeated iteration continues its conversation; a retried task starts with an empty context. */
function resumePolicy({ attempt, task }: Place): AgentIo['resumePolicy'] {
  if (attempt === 1) return 'never'
  return task === undefined ? 'answered' : 'limited'
}

function workspaceOf(turn: NativeTurn, alive: () => void, end: AbortSignal): Workspace {
  const { cwd, reading } = turn.step
  return {
    cwd,
    roots: reading?.roots ?? [],
    exec: (command, options) => {
      const take = (bytes: Uint8Array) => {
        alive()
        options.take(bytes)
      }
      const signal = AbortSignal.any([options.signal, end])
      return execute(command, { ...options, take, signal }, turn)
    },
  }
}

/** Shorter than for agents: a model waits for the result. */
const TERM_MS = 2000

/** Runs a command for the built-in agent; processes that the command started do not outlive it. */
async function execute(
  command: string,
  { timeoutMs, signal, take }: ExecOptions,
  { step, place, env, processes, ports }: NativeTurn,
): Promise<Executed> {
  const { force } = ports
  const key = `x-${randomLetters(12)}`
  const path = [env[TASK_PATH], key].filter(Boolean).join(':')
  try {
    const { pid, finished } = startProcess(shellLaunch(command), {
      cwd: step.cwd,
      env: { ...env, [TASK_PATH]: path },
      grace: { markerMs: 0, termMs: TERM_MS },
      limits: { timeoutMs },
      stop: signal,
      force,
      take: (_, bytes) => take(bytes),
    })
    const end = await processes.whileAlive(endWithTree(pid, finished, signal, force, 0))
    const left = await processes.endTask(key, force)
    if (left.length > 0)
      warnerFor(
        place,
        ports,
      )(`ended processes that a command left running: ${describeLeftovers(left)}`)
    if (end === undefined) return { kind: 'stopped' }
    return end.kind === 'exited' || end.kind === 'signalled' ? end : { kind: 'timed_out' }
  } catch (error) {
    if (error instanceof SpawnError) return { kind: 'failed', error: error.message }
    throw error
  }
}
