import { isAncestor, type Git } from './integrate.ts'
import { completeMove, moveBranch, tipOf, type GitIn, type Move } from './move-base.ts'

/** Where merges build on. */
export type BaseTip = { readonly kind: 'tip'; readonly commit: string } | Diverged

/** Merges are on the branch of the run, and somebody has added other commits to the base branch. */
export interface Diverged {
  readonly kind: 'diverged'
  readonly base: string
  readonly aside: string
}

export interface Advanced {
  readonly kind: 'moved' | 'raced' | 'aside'
  /** Why the base branch itself could not be moved. */
  readonly why?: string
}

/**
 * The branch that merges go to. If it cannot be moved, because somebody edits the same files or has deleted it,
 * merges continue on a branch of the run, and the base branch follows once it can.
 */
export class BaseBranch {
  readonly #top: string
  readonly name: string
  /** The branch of the run that is used if the base branch cannot be moved. */
  readonly aside: string
  readonly #gitIn: GitIn
  readonly #git: Git
  /** The last commit of the base branch, in case that it is deleted. */
  #known: string

  constructor(top: string, name: string, run: string, known: string, gitIn: GitIn) {
    this.#top = top
    this.name = name
    this.aside = `forkhestra/${run}/merged`
    this.#known = known
    this.#gitIn = gitIn
    this.#git = (...args) => gitIn(top, ...args)
  }

  async tip(): Promise<BaseTip> {
    const base = await this.#tipOf(this.name)
    const aside = await this.#tipOf(this.aside)
    if (base !== undefined) this.#known = base
    if (aside === undefined) return { kind: 'tip', commit: this.#known }
    if (base === undefined) return { kind: 'tip', commit: aside }
    if (await isAncestor(this.#git, aside, base)) {
      await this.#drop(aside)
      return { kind: 'tip', commit: base }
    }
    if (!(await isAncestor(this.#git, base, aside))) return { kind: 'diverged', base, aside }
    const { kind } = await moveBranch(
      this.#top,
      { branch: this.name, from: base, to: aside },
      this.#gitIn,
    )
    if (kind === 'moved') await this.#drop(aside)
    return { kind: 'tip', commit: aside }
  }

  /** Moves to a commit that contains `from`, the tip that it was made from. */
  async advance(from: string, to: string): Promise<Advanced> {
    const aside = await this.#tipOf(this.aside)
    if (aside !== undefined) return this.#advanceAside(aside, from, to)
    if ((await this.#tipOf(this.name)) === undefined)
      return this.#advanceAside(undefined, from, to, `branch ${this.name} was deleted`)
    const moved = await moveBranch(this.#top, { branch: this.name, from, to }, this.#gitIn)
    return moved.kind === 'refused' ? this.#advanceAside(undefined, from, to, moved.why) : moved
  }

  /** Completes a move that a killed process has begun; `checkout` has the new commit checked out. */
  async complete(move: Omit<Move, 'branch'>, checkout: string): Promise<Advanced> {
    const tip = await this.#tipOf(this.name)
    if (tip !== move.from && tip !== move.to) return this.advance(move.from, move.to)
    const moved = await completeMove(
      this.#top,
      { ...move, branch: this.name },
      checkout,
      this.#gitIn,
    )
    return moved.kind === 'refused'
      ? this.#advanceAside(await this.#tipOf(this.aside), move.from, move.to, moved.why)
      : moved
  }

  /** After both sides were put together in one commit. */
  async reunite({ base, aside }: Diverged, to: string): Promise<void> {
    await this.#git('update-ref', `refs/heads/${this.aside}`, to, aside)
    const moved = await moveBranch(this.#top, { branch: this.name, from: base, to }, this.#gitIn)
    if (moved.kind === 'moved') await this.#drop(to)
  }

  async #advanceAside(
    aside: string | undefined,
    from: string,
    to: string,
    why?: string,
  ): Promise<Advanced> {
    if (aside === to) return { kind: 'aside' }
    if (aside !== undefined && aside !== from) return { kind: 'raced' }
    const before = aside ?? '0'.repeat(to.length)
    await this.#git('update-ref', `refs/heads/${this.aside}`, to, before)
    return { kind: 'aside', ...(why === undefined ? {} : { why }) }
  }

  async #drop(aside: string): Promise<void> {
    await this.#git('update-ref', '-d', `refs/heads/${this.aside}`, aside)
  }

  async #tipOf(branch: string): Promise<string | undefined> {
    return tipOf(this.#top, branch, this.#gitIn)
  }
}
