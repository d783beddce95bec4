import { UserError } from '../../base/errors.ts'
import type { NotQueued } from '../../records/events/schema.ts'
import { stepAt } from '../../records/events/state.ts'
import type { Phases, PushCommand } from '../../chain/parse/prompt/phases.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import { toTask, QueueClient, type Push, type StartOptions } from '../../queue/client.ts'
import { isWantedAfter } from '../../chain/prompts/read-phases.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN } from '../../queue/task.ts'
import { describeNotQueued } from './task-end.ts'
import type { Context } from '../context.ts'
import { agentNameOf } from '../agent-names.ts'
import { currentPlace, scopeOf } from '../place.ts'

/** The result of the commands of one phase. */
export interface PhaseDone {
  readonly pushed: string[]
  readonly started: string[]
  readonly held: number
  /** Why one of them could not be queued. */
  readonly refused?: UserError
}

/**
 * Executes the commands before the content of a prompt. `id` is stable for the same prompt of the
 * same agent, so that a resumed run does not repeat what an earlier process did.
 */
export async function setUp(
  client: QueueClient,
  { setup }: Phases,
  id: string,
): Promise<PhaseDone> {
  const done: PhaseDone & { held: number } = { pushed: [], started: [], held: 0 }
  for (const { pushes, start } of partsOf(setup, id)) {
    if (pushes.length > 0) done.pushed.push(...(await client.push(pushes)))
    if (start === undefined) continue
    const { started, held } = await client.run(start)
    done.started.push(...started)
    done.held += held
  }
  return done
}

/** Tasks that are queued together, and the /run after them. */
interface Part {
  readonly pushes: (Push & { readonly id: string })[]
  start?: StartOptions
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

interface Refused {
  readonly name: string
  readonly error: UserError
}

interface Pushed {
  readonly pushed: readonly string[]
  readonly refused: readonly Refused[]
}

/** One at a time: a refused push does not prevent the others. */
async function pushEach(client: QueueClient, pushes: readonly Push[]): Promise<Pushed> {
  const done = { pushed: [] as string[], refused: [] as Refused[] }
  for (const push of pushes) {
    try {
      done.pushed.push(...(await client.push([push])))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      done.refused.push({ name: toTask(push).name, error })
    }
  }
  return done
}

/** Queues the teardown tasks of a chat prompt; `id` is used only once. */
export async function tearDown(
  client: QueueClient,
  phases: Phases,
  isSuccess: boolean,
  id: string,
): Promise<PhaseDone> {
  const { pushed, refused } = await pushEach(client, pushesAfter(phases, isSuccess, id))
  const [first] = refused
  const none = { started: [], held: 0 }
  return { pushed: [...pushed], ...none, ...(first === undefined ? {} : { refused: first.error }) }
}

/** The tasks that a prompt queues after its agent, with ids derived from `id`. */
export function pushesAfter({ teardown }: Phases, isSuccess: boolean, id: string) {
  return teardown.flatMap((command, index) => {
    if (!isWantedAfter(command, isSuccess)) return []
    return [asPush(command, `${id}.${command.on ?? 'success'}.${index}`)]
  })
}

function asPush({ kind: _kind, line: _line, on: _on, ...push }: PushCommand, id: string) {
  return { ...push, id }
}

/** Queues the teardown tasks of a step, once, even if the step ends several times. */
export async function tearDownStep(
  step: StepNode,
  phases: Phases,
  isSuccess: boolean,
  { plan, ports }: Context,
  open: () => Promise<QueueStore>,
): Promise<void> {
  const { notQueued: before = [] } = stepAt(ports.state(), step)
  const wanted = pushesAfter(phases, isSuccess, `${phaseId(plan.run, step)}.teardown`)
  const agent = agentNameOf(plan, step)
  const queue = { run: plan.run, agent, open }
  const { pushed, refused } = await pushNew(wanted, queue).catch((error: unknown) => {
    if (!(error instanceof UserError)) throw error
    return { pushed: [], refused: wanted.map((push) => ({ name: toTask(push).name, error })) }
  })
  const notQueued = refused.map(({ name, error: { message: error, hint } }): NotQueued => {
    return { name, error, ...(hint === undefined ? {} : { hint }) }
  })
  for (const each of notQueued) {
    const name = agent === MAIN ? step.agent.name : agent
    const text = `after step ${step.number} (${name}): ${describeNotQueued(each)}`
    ports.emit({ type: 'warning', text })
  }
  // An earlier round has already done everything.
  if (pushed.length + notQueued.length + before.length === 0) return
  const done = { pushed: [...pushed], started: [], held: 0 }
  const left = notQueued.length === 0 ? {} : { notQueued }
  const place = currentPlace(step, ports.state())
  ports.emit({ type: 'phase_ended', ...place, phase: 'teardown', ...done, ...left })
}

/** Names the tasks of a step's prompt, which is processed once per copy and round of its groups. */
export function phaseId(run: string, step: StepNode): string {
  return `${run}.${scopeOf(step, 1).join('/')}`
}

interface Queue {
  readonly run: string
  readonly agent: string
  readonly open: () => Promise<QueueStore>
}

/** Queues what an earlier process did not get to. */
async function pushNew(
  wanted: ReturnType<typeof pushesAfter>,
  { run, agent, open }: Queue,
): Promise<Pushed> {
  const store = await open()
  const pushes: Push[] = []
  for (const push of wanted) {
    if ((await store.task(run, push.id)) === undefined) pushes.push(push)
  }
  return pushEach(new QueueClient(store, run, agent), pushes)
}
