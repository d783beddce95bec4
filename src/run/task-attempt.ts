import { awakeMs } from '../base/awake.ts'
import { errorWithHint, UserError } from '../base/errors.ts'
import { stepAt } from '../events/state.ts'
import type { StepNode } from '../plan/plan.ts'
import { QueueError } from '../queue/refusal.ts'
import { MAIN, type Claim } from '../queue/task.ts'
import type { Held, Holds } from './holds.ts'
import { placeOf, type Place } from './place.ts'
import { stopReason, stopReasonOf } from './ports.ts'
import type { Pusher, Pushers } from './pushers.ts'
import { isTriedAgain, stopChildren, waitForChildren } from './task-children.ts'
import { closeTask, type Closers } from './task-close.ts'
import { classOfError, type Stopped } from './task-end.ts'
import { workAt, type CrewContext, type Refused, type Worked } from './work-task.ts'

/** What an attempt asks of those it works with. */
interface Mates extends Closers {
  /** Whether all that are at work wait for tasks that cannot begin because of that. */
  isStuck(): Promise<boolean>
  /** Settles when none that was queued by this task is worked at here. */
  childrenOver(): Promise<void>
  readonly holds: Holds
  /** Settles when all that may begin now have been taken. */
  gathered(): Promise<unknown>
  /** How many are about to begin, this one included. */
  beginning(): number
}

/** One attempt at a task, from the claim to its end in the store. */
export class TaskAttempt {
  readonly claim: Claim
  readonly #context: CrewContext
  readonly #pushers: Pushers
  readonly #crew: Mates
  readonly #cancel = new AbortController()
  readonly #stop: AbortSignal
  #stopped: Stopped | undefined
  #isWaiting = false
  #isOver = false
  #hasBegun = false

  constructor(claim: Claim, context: CrewContext, pushers: Pushers, crew: Mates) {
    this.claim = claim
    this.#context = context
    this.#pushers = pushers
    this.#crew = crew
    this.#stop = AbortSignal.any([this.#cancel.signal, context.ports.stop])
  }

  /** Whether it has been taken and not been given its share of the budgets. */
  get isBeginning(): boolean {
    return !this.#hasBegun
  }

  /** Whether its agent is done and its children are not. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Whether it is on its way to its end because somebody wants it. */
  get isStopping(): boolean {
    return this.#stopped !== undefined && !this.#isOver
  }

  /** Ends its agent. */
  stop(stopped: Stopped): void {
    this.#stopped ??= stopped
    this.#cancel.abort(stopReason('SIGTERM', stopped.error))
  }

  async run(): Promise<void> {
    const began = awakeMs()
    const { claim } = this
    const place = this.#place()
    const { worked, parent } = await this.#work(place)
    await this.#crew.patiently(() => this.#childrenEnd(worked))
    const closing = { claim, worked, parent: parent.name, place, pushers: this.#pushers, began }
    await closeTask(closing, this.#crew, this.#context, () => {
      this.#isOver = true
      this.#pushers.ended(claim.task)
    })
    this.#context.spending.told(place.scope)
  }

  #childrenEnd(worked: Worked): Promise<void> {
    this.#isWaiting = true
    const isAgain = isTriedAgain(worked, this.claim) && !this.#stop.aborted
    const end = isAgain ? stopChildren : waitForChildren
    return end(this.claim, this.#stop, this.#crew, this.#context)
  }

  #place(): Place {
    const { task, attempt } = this.claim
    const { ports } = this.#context
    const { id = 's1', number = 1 } = this.#pushers.main ?? {}
    const { rounds, iterations } = stepAt(ports.state(), number)
    const place = placeOf({ id, number }, rounds)
    const scope = [...place.scope, `task:${task.name}`, `a${attempt}`]
    return { ...place, scope, iteration: Math.max(1, iterations), attempt, task: task.name }
  }

  async #work(place: Place): Promise<{ worked: Worked; parent: Pusher }> {
    const { task } = this.claim
    let parent: Pusher = { name: MAIN, node: undefined }
    try {
      parent = await this.#pushers.of(task)
      const node = await this.#pushers.nodeFor(task, parent)
      await this.#crew.gathered()
      const broke = this.#context.spending.spentBudget(node)
      if (broke?.detail !== undefined) {
        const why = { class: 'budget' as const, error: broke.detail }
        return { parent, worked: this.#refuse(place, parent, why) }
      }
      const refused = this.#whyNotBegun() ?? heldWords(this.#crew.holds.of(node))
      if (refused !== undefined) {
        return { parent, worked: this.#refuse(place, parent, refused) }
      }
      const job = {
        claim: this.claim,
        node,
        parent: parent.name,
        place,
        stop: this.#stop,
        whyStopped: () => this.#whyStopped(),
        whyNotBegun: () => this.#whyNotBegun(),
        began: (step: StepNode) => this.#pushers.began(task, step),
        promise: (step: StepNode, mayQueue: boolean) => this.#promise(step, place, mayQueue),
      }
      const worked = await workAt(job, this.#context)
      return { parent, worked: this.#afterTurn(worked, node, place) }
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      const words = error instanceof QueueError ? errorWithHint(error) : error.message
      const why = { class: classOfError(error), error: words }
      return { parent, worked: this.#refuse(place, parent, why) }
    }
  }

  #promise(step: StepNode, place: Place, mayQueue: boolean) {
    const sharers = this.#crew.beginning()
    this.#hasBegun = true
    return this.#context.spending.promise(step, place, { sharers, mayQueue })
  }

  /** What cannot begin has begun and ended, for whoever reads the events. */
  #refuse(place: Place, parent: Pusher, { later, ...why }: Refused): Worked {
    this.#hasBegun = true
    const { id, name, options } = this.claim.task
    const agent = options.agent ?? parent.node?.agent.name ?? 'claude'
    this.#context.ports.emit({
      type: 'task_started',
      ...place,
      task: name,
      id,
      parent: parent.name,
      agent,
    })
    return { end: { success: false, ...why }, agent, later }
  }

  /** Whoever was turned away comes again without having used a try up, or need not come again. */
  #afterTurn(worked: Worked, node: StepNode, place: Place): Worked {
    const { turned, end } = worked
    if (turned === undefined || end.success || this.#whyStopped() !== undefined) return worked
    const held = this.#crew.holds.after(node, turned.outcome, place)
    if (held === undefined) return worked
    return 'inMs' in held ? { ...worked, later: held } : { ...worked, end: { ...end, ...held } }
  }

  /** What was taken and not begun when the run is stopped comes again, and has used no try up. */
  #whyNotBegun(): Refused | undefined {
    const stopped = this.#whyStopped()
    if (stopped === undefined || this.#stopped !== undefined) return stopped
    return { ...stopped, later: { inMs: 0 } }
  }

  #whyStopped(): Stopped | undefined {
    if (this.#stopped !== undefined) return this.#stopped
    const { stop } = this.#context.ports
    if (!stop.aborted) return undefined
    return { class: 'lost', error: `the run was ${stopReasonOf(stop).words}` }
  }
}

function heldWords(held: Held | undefined): Refused | undefined {
  if (held === undefined || 'class' in held) return held
  return { class: 'transient', error: 'another one has met a limit', later: held }
}
