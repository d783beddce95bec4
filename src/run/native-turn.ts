import type { LoopLaunch } from '../engines/engine.ts'
import type { AgentIo } from '../native/io.ts'
import type { Workplace } from '../native/tools/tool.ts'
import type { StepNode } from '../plan/plan.ts'
import type { QueueDoor } from '../verbs/door.ts'
import { execute } from './execute.ts'
import type { Family } from './family.ts'
import type { LoopHands } from './loop.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'

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
  const { env, left, place, queue } = turn
  return {
    env,
    workplace: workplaceOf(turn, alive, end),
    keeping: keepingOf(turn),
    mayGoOn: mayGoOn(place),
    left,
    spent,
    queue,
    alive,
  }
}

function keepingOf({ ports, place, env }: NativeTurn): AgentIo['keeping'] {
  const path = ports.conversation?.(place)
  if (path === undefined) return undefined
  const mask = ports.mask ?? ((data) => data)
  const before = Array.from({ length: place.attempt - 1 }, (_, index) => index + 1).toReversed()
  const earlier = before.flatMap((attempt) => ports.conversation?.({ ...place, attempt }) ?? [])
  return { path, mask, env, earlier }
}

/** What is repeated goes on; a task that has failed and is tried again begins with an empty context. */
function mayGoOn({ attempt, task }: Place): AgentIo['mayGoOn'] {
  if (attempt === 1) return 'never'
  return task === undefined ? 'answered' : 'limited'
}

function workplaceOf(turn: NativeTurn, alive: () => void, end: AbortSignal): Workplace {
  const { step, env, family, ports, place } = turn
  const { cwd, reading } = step
  const whose = place.task === undefined ? '' : `task ${place.task}: `
  const warn = (text: string) => void ports.emit({ type: 'warning', text: `${whose}${text}` })
  const surroundings = { cwd, env, family, force: ports.force, warn }
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
