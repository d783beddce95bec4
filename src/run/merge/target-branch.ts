import { errorText } from '../../base/errors.ts'
import type { AsideWork } from '../../records/events/schema.ts'
import { isAncestor, type Git } from './integrate.ts'
import {
  checkedOutIn,
  completeMove,
  followFiles,
  moveBranch,
  tipOf,
  type GitIn,
  type Move,
} from './move-branch.ts'

/** The state that merges start from. */
export type TargetTip = { readonly kind: 'tip'; readonly commit: string } | Diverged

/** Merges are on the run's branch, and someone has added other commits to the target branch. */
export interface Diverged {
  readonly kind: 'diverged'
  readonly target: string
  readonly aside: string
}

export interface Advanced {
  readonly kind: 'moved' | 'raced' | 'aside'
  /** Why the target branch itself could not be moved. */
  readonly why?: string
}

/**
 * The branch that merges go to. If it cannot be moved, because the user edits the same files or has deleted it,
 * merges continue on a branch of the run; the target branch catches up when possible.
 */
export class TargetBranch {
  readonly #top: string
  readonly name: string
  /** The branch of the run that is used if the target branch cannot be moved. */
  readonly aside: string
  readonly #gitIn: GitIn
  readonly #git: Git
  /** The last commit of the target branch, in case it is deleted. */
  #known: string
  /** The commit that the checkout of the target branch last matched. */
  #filesAt: string
  /** Why the files cannot follow the target branch, which must not move without them. */
  #stuck: string | undefined

  constructor(top: string, name: string, aside: string, known: string, gitIn: GitIn) {
    this.#top = top
    this.name = name
    this.aside = aside
    this.#known = known
    this.#filesAt = known
    this.#gitIn = gitIn
    this.#git = (...args) => gitIn(top, ...args)
  }

  async tip(): Promise<TargetTip> {
    const target = await this.tipOf(this.name)
    const aside = await this.tipOf(this.aside)
    if (target !== undefined) this.#known = target
    if (aside === undefined) return { kind: 'tip', commit: this.#known }
    if (target === undefined) return { kind: 'tip', commit: aside }
    if (await isAncestor(this.#git, aside, target)) {
      await this.#drop(aside)
      return { kind: 'tip', commit: target }
    }
    if (!(await isAncestor(this.#git, target, aside))) return { kind: 'diverged', target, aside }
    if (this.#stuck !== undefined) return { kind: 'tip', commit: aside }
    const { kind } = await moveBranch(
      this.#top,
      { branch: this.name, from: target, to: aside },
      this.#gitIn,
    )
    if (kind === 'moved') await this.#drop(aside)
    return { kind: 'tip', commit: aside }
  }

  /** Call before the files are used: an agent may have moved the branch without updating them. */
  async followFiles(): Promise<void> {
    const tip = await this.tipOf(this.name)
    if (tip === undefined || tip === this.#filesAt) return
    const move = { branch: this.name, from: this.#filesAt, to: tip }
    try {
      await followFiles(this.#top, move, this.#gitIn)
      this.#stuck = undefined
      this.#filesAt = tip
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.#stuck = errorText(error)
    }
  }

  /** Moves to a commit that builds on `from`, the current tip. */
  async advance(from: string, to: string): Promise<Advanced> {
    const aside = await this.tipOf(this.aside)
    if (aside !== undefined) return this.#advanceAside(aside, from, to)
    if ((await this.tipOf(this.name)) === undefined)
      return this.#advanceAside(undefined, from, to, `branch ${this.name} was deleted`)
    if (this.#stuck !== undefined) return this.#advanceAside(undefined, from, to, this.#stuck)
    const moved = await moveBranch(this.#top, { branch: this.name, from, to }, this.#gitIn)
    return moved.kind === 'refused' ? this.#advanceAside(undefined, from, to, moved.why) : moved
  }

  /** Completes a move that a killed process had begun; `checkout` has the new commit checked out. */
  async complete(move: Omit<Move, 'branch'>, checkout: string): Promise<Advanced> {
    const tip = await this.tipOf(this.name)
    if (tip !== move.from && tip !== move.to) return this.advance(move.from, move.to)
    const moved = await completeMove(
      this.#top,
      { ...move, branch: this.name },
      checkout,
      this.#gitIn,
    )
    return moved.kind === 'refused'
      ? this.#advanceAside(await this.tipOf(this.aside), move.from, move.to, moved.why)
      : moved
  }

  /** Call after both sides were combined in one commit. */
  async reunite({ target, aside }: Diverged, to: string): Promise<void> {
    const folder = await this.#asideFolder()
    if (folder !== undefined) throw new Error(`${this.aside} is checked out in ${folder}`)
    await this.#git('update-ref', `refs/heads/${this.aside}`, to, aside)
    const moved = await moveBranch(this.#top, { branch: this.name, from: target, to }, this.#gitIn)
    if (moved.kind === 'moved') await this.#drop(to)
  }

  async #advanceAside(
    aside: string | undefined,
    from: string,
    to: string,
    why?: string,
  ): Promise<Advanced> {
    if (aside === to) return { kind: 'aside' }
    if (aside !== undefined && !(await isAncestor(this.#git, aside, from))) return { kind: 'raced' }
    if (aside !== undefined && (await this.#asideFolder()) !== undefined) {
      const move = { branch: this.aside, from: aside, to }
      const moved = await moveBranch(this.#top, move, this.#gitIn)
      if (moved.kind === 'refused') throw new Error(`${this.aside} cannot be moved: ${moved.why}`)
      return moved.kind === 'raced' ? moved : { kind: 'aside' }
    }
    const before = aside ?? '0'.repeat(to.length)
    await this.#git('update-ref', `refs/heads/${this.aside}`, to, before)
    return { kind: 'aside', ...(why === undefined ? {} : { why }) }
  }

  async #drop(aside: string): Promise<void> {
    if ((await this.#asideFolder()) === undefined)
      await this.#git('update-ref', '-d', `refs/heads/${this.aside}`, aside)
  }

  /** Where the user has checked it out. */
  #asideFolder(): Promise<string | undefined> {
    return checkedOutIn(this.#top, this.aside, this.#gitIn)
  }

  /** The merged work that is only on the branch of the run; undefined if there is none. */
  async workAside(): Promise<AsideWork | undefined> {
    const found = await this.tip()
    const aside = await this.tipOf(this.aside)
    if (aside === undefined) return undefined
    const work = { branch: this.aside, into: this.name }
    const target = await this.tipOf(this.name)
    if (target === undefined) return { ...work, isDeleted: true }
    if (await isAncestor(this.#git, aside, target)) return undefined
    const place = await checkedOutIn(this.#top, this.name, this.#gitIn)
    return {
      ...work,
      ...(found.kind === 'diverged' ? { isDiverged: true } : {}),
      ...(place === undefined ? {} : { place }),
    }
  }

  /** Whether a commit was merged, into the target branch or aside. */
  async contains(commit: string): Promise<boolean> {
    const found = await this.tip()
    const tips = found.kind === 'tip' ? [found.commit] : [found.target, found.aside]
    for (const tip of tips) if (await isAncestor(this.#git, commit, tip)) return true
    return false
  }

  /** The last commit of any branch; undefined if it does not exist. */
  tipOf(branch: string): Promise<string | undefined> {
    return tipOf(this.#top, branch, this.#gitIn)
  }
}
