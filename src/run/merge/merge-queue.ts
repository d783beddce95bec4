import type { TargetBranch, Diverged } from './target-branch.ts'
import {
  checkOut,
  integrate,
  type Conflict,
  type IntegrationTree,
  type MergeMethod,
  type Copies,
} from './integrate.ts'

/** The work that a branch hands in. */
export interface HandIn {
  /** Identifies the branch in events. */
  readonly scope: readonly string[]
  readonly branch: string
  readonly tip: string
  /** An earlier tip of the branch that was merged as copies. */
  readonly merged?: string | undefined
  /** The commit of the target branch that the work builds on. */
  readonly given?: string
  readonly method: MergeMethod
  /** The commands that must succeed on the result. */
  readonly gates: readonly string[]
}

/** The same, with the commit that contains it after the merge. */
export interface MergedHandIn {
  readonly item: HandIn
  readonly commit: string
  /** How many of its commits are new; absent if a killed process of an earlier version merged them. */
  readonly commits?: number | undefined
  readonly copies: Copies
}

export type HandedIn =
  | {
      readonly kind: 'merged'
      /** The commit with the work, and the branch that now contains it. */
      readonly commit: string
      readonly commits?: number | undefined
      readonly copies: Copies
      /** Why it is not on the target branch yet. */
      readonly aside?: string
    }
  | Conflict
  | { readonly kind: 'gate'; readonly detail: string; readonly feedback: string }
  | Broken

/** Nothing can be merged, whatever is handed in. */
interface Broken {
  readonly kind: 'broken'
  readonly detail: string
  /** Set if the target branch itself fails the checks. */
  readonly cause?: 'check_failed'
}

interface ClosedGate {
  readonly kind: 'closed'
  readonly detail: string
  readonly feedback: string
}

export type GateResult = { readonly kind: 'open' } | ClosedGate

/** What the queue needs from the run. */
export interface MergeHost {
  readonly target: TargetBranch
  /** The integration worktree, created if necessary. */
  tree(): Promise<IntegrationTree>
  /** Runs the gates of an item in the integration worktree; throws if the run is stopped. */
  check(item: HandIn): Promise<GateResult>
  /** Waits for the lock of the repository, which other runs may hold. */
  lock<Result>(work: () => Promise<Result>): Promise<Result>
  started(items: readonly HandIn[], onto: string): void
  /** Called before the target branch moves, so that an interrupted move can be completed. */
  ready(merged: readonly MergedHandIn[], from: string, to: string): void
  ended(item: HandIn, result: HandedIn): void
  /** Merged commits were copied again, because someone else changed the target branch. */
  reunited(copies: Copies, from: string, to: string): void
}

/** Maximum number of branches in a batch. */
const MOST_TOGETHER = 8

interface Waiting {
  readonly item: HandIn
  readonly resolve: (result: HandedIn) => void
  readonly reject: (error: unknown) => void
}

/** A branch that was placed on top of the others in its batch. */
interface Placed extends MergedHandIn {
  readonly waiting: Waiting
}

interface Accused {
  readonly waiting: Waiting
  readonly gate: ClosedGate
}

type Tried =
  | { readonly kind: 'raced' }
  | Conflict
  | Broken
  | {
      readonly kind: 'tested'
      readonly placed: readonly Placed[]
      readonly gate: GateResult
      readonly aside?: { readonly aside?: string }
    }

/**
 * Merges branches in batches: all branches of a batch are placed on the tip of the target branch and tested
 * together. If the gates fail, the batch is bisected until the culprit is found.
 */
export class MergeQueue {
  readonly #host: MergeHost
  readonly #waiting: Waiting[] = []
  #isAtWork = false
  /** Trees that have passed, together with their commands. */
  readonly #passed = new Set<string>()
  /** What failed in the current batch, so that the same files are not tested twice. */
  readonly #failed = new Map<string, ClosedGate>()

  constructor(host: MergeHost) {
    this.#host = host
  }

  handIn(item: HandIn): Promise<HandedIn> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#isAtWork) void this.#work()
    })
  }

  async #work(): Promise<void> {
    this.#isAtWork = true
    while (this.#waiting.length > 0) {
      let batch = this.#waiting.slice(0, 1)
      try {
        await this.#host.lock(async () => {
          // Others may have arrived while this one waited for the lock.
          batch = this.#takeBatch()
          await this.#merge(batch)
        })
      } catch (error) {
        for (const each of batch) this.#fail(each, error)
      }
    }
    this.#isAtWork = false
  }

  #fail(waiting: Waiting, error: unknown): void {
    const at = this.#waiting.indexOf(waiting)
    if (at !== -1) this.#waiting.splice(at, 1)
    waiting.reject(error)
  }

  /** The oldest item, and all others with the same gates. */
  #takeBatch(): Waiting[] {
    const [first] = this.#waiting
    const gates = keyOf(first!.item.gates)
    const batch = this.#waiting
      .filter(({ item }) => keyOf(item.gates) === gates)
      .slice(0, MOST_TOGETHER)
    for (const each of batch) this.#waiting.splice(this.#waiting.indexOf(each), 1)
    return batch
  }

  /** Ends every item of a batch. */
  async #merge(batch: readonly Waiting[]): Promise<void> {
    this.#failed.clear()
    let left: readonly Waiting[] = batch
    /** How many items, from the first, are known to fail together. */
    let suspects = 0
    /** Failed alone; to blame only if the target branch itself passes. */
    const accused: Accused[] = []
    while (left.length > 0) {
      const some = left.slice(0, suspects > 0 ? Math.ceil(suspects / 2) : left.length)
      const tried = await this.#try(some)
      if (tried.kind === 'raced') continue
      if (tried.kind === 'broken') {
        for (const each of [...left, ...accused.map(({ waiting }) => waiting)])
          this.#end(each, tried)
        return
      }
      if (tried.kind === 'conflict') {
        this.#end(some[0]!, tried)
        left = left.slice(1)
        suspects = Math.max(0, suspects - 1)
        continue
      }
      const { placed, gate } = tried
      const isPlaced = new Set(placed.map(({ waiting }) => waiting))
      const others = left.filter((each) => !isPlaced.has(each))
      if (gate.kind === 'open') {
        for (const { waiting, commit, commits, copies } of placed)
          this.#end(waiting, { kind: 'merged', commit, commits, copies, ...tried.aside })
        for (const each of accused.splice(0)) this.#end(each.waiting, asGuilty(each.gate))
        left = others
        suspects = Math.max(0, suspects - placed.length)
      } else if (placed.length > 1) {
        left = [...isPlaced, ...others]
        suspects = placed.length
      } else {
        accused.push({ waiting: placed[0]!.waiting, gate })
        left = others
        suspects = 0
      }
    }
    if (accused.length > 0) await this.#judge(accused)
  }

  /** Places branches on the target branch, tests them together, and moves the target branch if they pass. */
  async #try(batch: readonly Waiting[]): Promise<Tried> {
    const { target } = this.#host
    const tree = await this.#host.tree()
    await target.followFiles()
    const found = await target.tip()
    if (found.kind === 'diverged') return this.#reunite(tree, found, batch[0]!.item)
    const from = found.commit
    this.#host.started(
      batch.map(({ item }) => item),
      from,
    )
    const placed: Placed[] = []
    let onto = from
    for (const waiting of batch) {
      const done = await integrate(tree, { ...waiting.item, onto })
      if (done.kind === 'conflict') {
        // A conflict with another branch of the batch counts only once that branch is merged.
        if (placed.length === 0) return done
        continue
      }
      onto = done.commit
      const { commits, copies } = done
      placed.push({ waiting, item: waiting.item, commit: onto, commits, copies })
    }
    const gate = await this.#check(tree, onto, batch[0]!.item)
    if (gate.kind === 'closed') return { kind: 'tested', placed, gate }
    const moved = await this.#move(placed, from, onto)
    return moved.kind === 'raced' ? moved : { kind: 'tested', placed, gate, aside: moved.aside }
  }

  /** Moves work that was merged aside onto commits that someone has added to the target branch. */
  async #reunite(tree: IntegrationTree, found: Diverged, item: HandIn): Promise<Tried> {
    const { target } = this.#host
    const branch = target.aside
    const words = `${target.name} has new commits, and ${branch} cannot be rebased onto them`
    const done = await integrate(tree, {
      onto: found.target,
      tip: found.aside,
      method: 'rebase',
      branch,
    })
    if (done.kind === 'conflict')
      return { kind: 'broken', detail: `${words}: conflicts in ${done.files.join(', ')}` }
    const gate = await this.#check(tree, done.commit, item)
    if (gate.kind === 'closed') return { kind: 'broken', detail: `${words}: ${gate.detail}` }
    this.#host.reunited(done.copies, found.target, done.commit)
    await target.reunite(found, done.commit)
    return { kind: 'raced' }
  }

  async #move(
    merged: readonly MergedHandIn[],
    from: string,
    to: string,
  ): Promise<{ kind: 'raced' } | { kind: 'moved'; aside: { aside?: string } }> {
    if (from === to) return { kind: 'moved', aside: {} }
    this.#host.ready(merged, from, to)
    const { kind, why } = await this.#host.target.advance(from, to)
    if (kind === 'raced') return { kind }
    return { kind: 'moved', aside: kind === 'moved' ? {} : { aside: why ?? '' } }
  }

  /** Checks out a commit and runs the gates on it, unless the result for the same files is known. */
  async #check(tree: IntegrationTree, commit: string, item: HandIn): Promise<GateResult> {
    const { gates } = item
    if (gates.length === 0) return { kind: 'open' }
    const files = (await tree.git('rev-parse', `${commit}^{tree}`)).trim()
    const key = keyOf([files, ...gates])
    if (this.#passed.has(key)) return { kind: 'open' }
    const failed = this.#failed.get(key)
    if (failed !== undefined) return failed
    await checkOut(tree, commit)
    const result = await this.#host.check(item)
    if (result.kind === 'open') this.#passed.add(key)
    else this.#failed.set(key, result)
    return result
  }

  /** No branch is blamed if the target branch itself fails. */
  async #judge(accused: readonly Accused[]): Promise<void> {
    const { target } = this.#host
    const found = await target.tip()
    const tree = await this.#host.tree()
    const commit = found.kind === 'tip' ? found.commit : found.target
    for (const { waiting, gate } of accused) {
      const alone = await this.#check(tree, commit, waiting.item)
      this.#end(
        waiting,
        alone.kind === 'open'
          ? asGuilty(gate)
          : {
              kind: 'broken',
              detail: `the checks already fail on ${target.name}: ${alone.detail}`,
              cause: 'check_failed',
            },
      )
    }
  }

  #end({ item, resolve }: Waiting, result: HandedIn): void {
    this.#host.ended(item, result)
    resolve(result)
  }
}

function asGuilty({ detail, feedback }: ClosedGate): HandedIn {
  return { kind: 'gate', detail, feedback }
}

function keyOf(words: readonly string[]): string {
  return JSON.stringify(words)
}
