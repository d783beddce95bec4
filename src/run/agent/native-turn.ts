import type { LoopLaunch } from '../../engines/engine.ts'
import type { AgentIo } from '../../engines/native/io.ts'
import type { Workspace } from '../../engines/native/tools/tool.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import { execute } from './execute.ts'
import type { LoopDelivery } from './loop.ts'
import { warnerFor, type Place } from '../chain/place.ts'
import type { Ports } from '../chain/ports.ts'
import type { Family } from '../process/family.ts'

/** The surroundings of one turn of the built-in agent. */
export interface NativeTurn {
  readonly step: StepNode
  readonly place: Place
  readonly env: Readonly<Record<string, string>>
  readonly left: AgentIo['left']
  readonly queue: QueueProvider | undefined
  readonly ports: Ports
  readonly family: Family
}

/** Begins a turn of the built-in agent, whose library is loaded on demand. */
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
  const { step, env, family, ports, place } = turn
  const { cwd, reading } = step
  const surroundings = { cwd, env, family, force: ports.force, warn: warnerFor(place, ports) }
  return {
    cwd,
    roots: reading?.roots ?? [],
    exec: (command, options) => {
      const take = (bytes: Uint8Array) => {
        alive()
        options.take(bytes)
      }
      const signal = AbortSignal.any([options.signal, end])
      return execute(command, { ...options, take, signal }, surroundings)
    },
  }
}
