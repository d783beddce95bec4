import { UserError } from '../base/errors.ts'
import type { makeLaunch } from '../plan/launch.ts'
import { asTask, Desk, type Push, type RunOptions } from '../queue/desk.ts'
import { isStoreTrouble } from './store-trouble.ts'
import type { QueueStore } from '../queue/store.ts'
import type { Agent } from '../queue/task.ts'

/** A prompt as a small program. */
export type Phases = ReturnType<typeof makeLaunch>['phases']

/** Whose queue it is. */
interface Owner {
  readonly store: QueueStore
  readonly run: string
  readonly agent: Agent
}

/** What the commands of one phase have done. */
export interface PhaseDone {
  readonly pushed: string[]
  readonly started: string[]
  readonly held: number
  /** Why one of them could not be queued. */
  readonly refused?: UserError
}

type PushCommand = Phases['teardown'][number]

/**
 * Queues and starts what a prompt wants to happen before its agent, in order. `id` is the same for
 * the same prompt of the same agent, so that what an earlier process has done is not done again.
 */
export function setUp(phases: Phases, id: string, owner: Owner): Promise<PhaseDone> {
  return setUpAt(new Desk(owner.store, owner.run, owner.agent), phases, id)
}

/** The same at the desk of the agent. */
export async function setUpAt(desk: Desk, { setup }: Phases, id: string): Promise<PhaseDone> {
  const done: PhaseDone & { held: number } = { pushed: [], started: [], held: 0 }
  for (const { pushes, start } of partsOf(setup, id)) {
    if (pushes.length > 0) done.pushed.push(...(await desk.push(pushes)))
    if (start === undefined) continue
    const { started, held } = await desk.run(start)
    done.started.push(...started)
    done.held += held
  }
  return done
}

/** Tasks that are queued together, and what is started then. */
interface Part {
  readonly pushes: (Push & { readonly id: string })[]
  start?: RunOptions
}

function partsOf(setup: Phases['setup'], id: string): Part[] {
  const parts: Part[] = [{ pushes: [] }]
  for (const [index, command] of setup.entries()) {
    if (command.kind === 'push') parts.at(-1)!.pushes.push(asPush(command, `${id}.${index}`))
    if (command.kind !== 'run') continue
    parts.at(-1)!.start = { id: `${id}.${index}`, count: command.count, parallel: command.parallel }
    parts.push({ pushes: [] })
  }
  return parts
}

/**
 * Queues what a prompt wants to be done after its agent, into the queue of `agent`; each command
 * once for an `id`, however often its agent ends. Of those that are new what is refused keeps
 * nothing else back.
 */
export async function tearDown(
  phases: Phases,
  isSuccess: boolean,
  id: string,
  { store, run, agent }: Owner,
): Promise<Pushed> {
  const pushes: Push[] = []
  for (const push of pushesAfter(phases, isSuccess, id)) {
    if ((await store.task(run, push.id)) === undefined) pushes.push(push)
  }
  return pushWhatFits(new Desk(store, run, agent), pushes)
}

interface Refused {
  readonly name: string
  readonly error: UserError
}

interface Pushed {
  readonly pushed: readonly string[]
  readonly refused: readonly Refused[]
}

async function pushWhatFits(desk: Desk, pushes: readonly Push[]): Promise<Pushed> {
  if (pushes.length === 0) return { pushed: [], refused: [] }
  try {
    return { pushed: await desk.push(pushes), refused: [] }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    if (pushes.length === 1 || isStoreTrouble(error)) return allRefused(pushes, error)
  }
  const each: Pushed[] = []
  for (const push of pushes) each.push(await pushWhatFits(desk, [push]))
  return {
    pushed: each.flatMap(({ pushed }) => pushed),
    refused: each.flatMap(({ refused }) => refused),
  }
}

/** None of them can be queued, for the same reason. */
export function allRefused(pushes: readonly Push[], error: UserError): Pushed {
  return { pushed: [], refused: pushes.map((push) => ({ name: asTask(push).name, error })) }
}

/** The same at the desk of the agent, for an `id` that comes once. What is refused keeps nothing else back. */
export async function tearDownAt(
  desk: Desk,
  phases: Phases,
  isSuccess: boolean,
  id: string,
): Promise<PhaseDone> {
  const { pushed, refused } = await pushWhatFits(desk, pushesAfter(phases, isSuccess, id))
  const [first] = refused
  const none = { started: [], held: 0 }
  return { pushed: [...pushed], ...none, ...(first === undefined ? {} : { refused: first.error }) }
}

/** What a prompt wants to be queued after its agent; each has an id of its own for an `id`. */
export function pushesAfter({ teardown }: Phases, isSuccess: boolean, id: string) {
  return teardown.flatMap((command, index) => {
    if (!isWanted(command, isSuccess)) return []
    return [asPush(command, `${id}.${command.on ?? 'success'}.${index}`)]
  })
}

export function hasTeardown({ teardown }: Phases, isSuccess: boolean): boolean {
  return teardown.some((command) => isWanted(command, isSuccess))
}

function isWanted({ on = 'success' }: PushCommand, isSuccess: boolean): boolean {
  return on === 'always' || (on === 'success') === isSuccess
}

function asPush({ kind: _kind, line: _line, on: _on, ...push }: PushCommand, id: string) {
  return { ...push, id }
}
