import {
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { moveFile, unfinishedPath, writeNewFile } from '../../base/atomic-write.ts'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { sizesInWords, statOf } from '../../base/files.ts'
import { Busy, withLock } from '../../base/lock.ts'
import { checkoutOfFile } from './checkouts.ts'
import { clampLeases } from './clamp-leases.ts'
import { forgetOldest } from './forget.ts'
import { makeLocal } from './local-folder.ts'
import { ForeignLink, isOwnFolder, refuseForeign } from './links.ts'
import { carryOut, discard, isContent, printOf, recover, type Failure } from './moves.ts'
import type { Places } from './places.ts'
import { TASK_LIMIT_BYTES } from './scan.ts'
import { setSeal, withSeal, type Seal } from './seal.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { hasState, readState, writeState, type Move, type State } from './state.ts'

/** A read-only folder, a full disk. */
class CannotWrite extends UserError {
  override readonly exitCode = 1
}

/** How far a change came before it failed. */
type Progress = 'nothing was changed' | 'a part was changed' | 'the rest waits'

/**
 * What a change is going to do. Nothing happens before `commit`, and then everything does: the new
 * contents lie beside, the state says where each belongs, and whoever finds them there after a crash
 * moves them.
 */
export class Draft {
  readonly #places: Places
  readonly #texts = new Map<string, string>()
  readonly #links = new Map<string, string>()
  readonly #moves: Move[] = []
  readonly #removed: string[] = []
  #saved: State
  #seal: Seal | undefined
  #progress: Progress = 'nothing was changed'
  state: State

  constructor(places: Places, state: State) {
    this.#places = places
    this.#saved = this.state = state
  }

  get progress(): Progress {
    return this.#progress
  }

  get isEmpty(): boolean {
    const isSame = this.state === this.#saved
    return isSame && this.#texts.size + this.#links.size + this.#moves.length === 0
  }

  write(path: string, text: string): void {
    refuseForeign(path, checkoutOfFile(path, this.state, this.#places))
    if (path.endsWith('.md')) refuseLarge(path, text)
    this.#texts.set(path, text)
  }

  move(from: string, to: string): void {
    refuseForeign(dirname(to), this.#places)
    const target = relativeTarget(from)
    if (target === undefined) {
      this.#moves.push({ from, to, was: printOf(statOf(to)) })
      return
    }
    this.#links.set(to, relative(realpathSync(dirname(to)), target))
    this.remove(from)
  }

  /** Says of the names of this checkout, as they will be then, that they are all known. */
  seal(seal: Seal): void {
    this.state = { ...this.state, seals: withSeal(this.state.seals, this.#places, seal) }
    this.#seal = seal
  }

  remove(path: string): void {
    const to = unfinishedPath(this.#folderFor(path))
    this.#removed.push(to)
    this.#moves.push({ from: path, to, was: null })
  }

  commit(): void {
    if (this.state !== this.#saved) this.state = forgetOldest(this.state, this.#places)
    const [own, foreign] = this.#writeBeside()
    own.push(...this.#moves)
    const moves = [...own, ...foreign]
    const isListed = this.state !== this.#saved || moves.length > 1
    this.#begin(own, moves, isListed)
    const failed = carryOut(own.slice(1))
    if (failed.length > 0 && this.#takeBack(own, moves, failed, isListed)) throw failed[0]!.error
    // Another checkout that cannot be written now is no reason to give up: its files wait.
    this.#end(moves, [...failed, ...carryOut(foreign)], isListed)
    for (const path of this.#removed.splice(0)) rmSync(path, { force: true })
    const [failure] = failed
    if (failure === undefined && this.#seal !== undefined) setSeal(this.#places, this.#seal)
    if (failure === undefined) return
    if (failed.some(({ move }) => isContent(move))) this.#progress = 'the rest waits'
    throw failure.error
  }

  /** Up to the first move everything can be taken back; from then on it will be ended. */
  #begin([first]: readonly Move[], moves: readonly Move[], isListed: boolean): void {
    let isSaved = false
    try {
      if (isListed) this.#save({ ...this.state, moves: [...this.#waiting(), ...moves] })
      isSaved = isListed
      if (first !== undefined) moveFile(first.from, first.to)
    } catch (error) {
      discard(moves)
      if (isSaved) this.#save(this.#saved)
      throw error
    }
    if (isListed || first !== undefined) this.#progress = 'a part was changed'
  }

  /** Where nothing was replaced, a change that fails halfway can be undone. Whether it was. */
  #takeBack(
    own: readonly Move[],
    moves: readonly Move[],
    failed: readonly Failure[],
    isListed: boolean,
  ): boolean {
    if (own.some(({ was }) => was !== null)) return false
    const done = own.filter((each) => !failed.some(({ move }) => move === each))
    const back = done.toReversed().map(({ from, to }) => ({ from: to, to: from }))
    if (carryOut(back).length > 0) return false
    if (isListed) this.#save(this.#saved)
    discard(moves)
    this.#progress = 'nothing was changed'
    return true
  }

  /**
   * What was moved must not be moved again: its old place may be taken by then. Only a content cannot
   * come from the same place twice.
   */
  #end(moves: readonly Move[], failed: readonly Failure[], isListed: boolean): void {
    const waiting = failed.flatMap(({ move }) => (isContent(move) ? [move] : []))
    if (waiting.length > 0) this.state = { ...this.state, moves: [...this.#waiting(), ...waiting] }
    const isHarmless = moves.length <= 1 && moves.every(isContent)
    if (waiting.length > 0 || (isListed && !isHarmless)) this.#save(this.state)
    this.#texts.clear()
    this.#links.clear()
    this.#moves.length = 0
    this.#saved = this.state
  }

  #waiting(): readonly Move[] {
    return this.state.moves ?? []
  }

  #save(state: State): void {
    writeState(this.#places, state)
  }

  /** Those of this checkout, and those of others. */
  #writeBeside(): [own: Move[], foreign: Move[]] {
    const [own, foreign]: [Move[], Move[]] = [[], []]
    try {
      for (const [path, text] of this.#texts) {
        const isOwn = path.startsWith(join(this.#places.tasks, '/'))
        ;(isOwn ? own : foreign).push(this.#writeText(path, text, isOwn))
      }
      for (const [path, target] of this.#links) own.push(this.#makeLink(path, target))
      return [own, foreign]
    } catch (error) {
      discard([...own, ...foreign])
      throw error
    }
  }

  /** A link stays a link, and a file keeps its permissions. */
  #writeText(path: string, text: string, isOwn: boolean): Move {
    const old = lstatSync(path, { throwIfNoEntry: false })
    const to = old?.isSymbolicLink() ? realpathSync(path) : path
    const from = unfinishedPath(isOwn ? this.#folderFor(to) : this.#places.shared)
    const target = to === path ? old : statOf(to)
    writeNewFile(from, text, { durable: true, mode: target?.mode })
    return { from, to, was: printOf(target) }
  }

  #makeLink(path: string, target: string): Move {
    const from = unfinishedPath(this.#folderFor(path))
    symlinkSync(target, from)
    return { from, to: path, was: printOf(statOf(path)) }
  }

  /** Out of sight where the disk is the same, so that a crash leaves nothing among the tasks. */
  #folderFor(path: string): string {
    const { shared } = this.#places
    const folder = dirname(path)
    const disk = statOf(folder)?.dev ?? makeFolder(folder)
    return disk === statOf(shared)?.dev ? shared : folder
  }
}

/** What is written must be readable afterwards. */
function refuseLarge(path: string, text: string): void {
  const size = Buffer.byteLength(text)
  if (size <= TASK_LIMIT_BYTES) return
  const [words, limit] = sizesInWords(size, TASK_LIMIT_BYTES)
  throw new CannotChange(
    `${basename(path)} would be ${words} long, the limit is ${limit}. Nothing was changed.`,
    'Put the text into a file of the project, and name that file in the task.',
  )
}

/** Where a link leads that would lead elsewhere from another folder. */
function relativeTarget(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined
  const target = readlinkSync(path)
  return isAbsolute(target) ? undefined : resolve(realpathSync(dirname(path)), target)
}

function makeFolder(path: string): number {
  mkdirSync(path, { recursive: true })
  return statSync(path).dev
}

/** Runs a change while no other process changes this database, in any worktree of the clone. */
export function change<Result>(
  places: Places,
  work: (draft: Draft) => Result,
  patienceMs?: number,
): Result {
  let draft: Draft | undefined
  refuseForeign(places.tasks, places)
  try {
    if (places.shared === places.local) refuseLinked(places)
    // A folder for the lock would make any folder a project, so a change that fails must not leave one.
    if (statOf(places.shared) === undefined && !hasState(places)) {
      const rehearsal = new Draft(places, readState(places))
      const result = work(rehearsal)
      if (rehearsal.isEmpty) return result
    }
    makeLocal(places.shared, places)
    const locked = () => {
      draft = new Draft(places, recoverState(places))
      draft.state = clampLeases(draft.state, Date.now())
      const result = work(draft)
      draft.commit()
      return result
    }
    return withLock(join(places.shared, 'lock'), locked, patienceMs)
  } catch (error) {
    if (errorCode(error) === undefined || error instanceof UserError) throw error
    throw cannotWrite(places, error, draft?.progress)
  }
}

/**
 * For whoever only looks, and has something to set right by the way: another process that is at work is
 * not waited for, and a folder that cannot be written is left as it is. Whether it was done.
 */
export function tryToChange(places: Places, work: (draft: Draft) => void): boolean {
  try {
    change(places, work, 0)
    return true
  } catch (error) {
    const isLeftAlone =
      error instanceof CannotWrite || error instanceof Busy || error instanceof ForeignLink
    if (!isLeftAlone) throw error
    return false
  }
}

/** Local state lies in a folder that we made: a link there came with the project. */
function refuseLinked(places: Places): void {
  if (isOwnFolder(places.local, places)) return
  throw new ForeignLink(
    `${places.local} is a symbolic link: nothing is written there.`,
    'Delete it: forge-tasks makes a folder in its place.',
  )
}

function recoverState(places: Places): State {
  const state = readState(places)
  const { moves = [] } = state
  const recovered = { ...state, moves: recover(places, state) }
  const isShorter = moves.length > 1 && recovered.moves.length < moves.length
  if (isShorter || !moves.every(isContent)) writeState(places, recovered)
  return recovered
}

const REMEDIES: Readonly<Record<string, string>> = {
  ENOTDIR: 'Rename the file that lies where a folder has to be',
  EEXIST: 'Rename the file that lies where a folder has to be',
  EACCES: 'Give this user the right to write there',
  EPERM: 'Give this user the right to write there',
  EROFS: 'Make the disk writable',
  ENOSPC: 'Make room',
  EDQUOT: 'Make room',
}

function cannotWrite({ tasks }: Places, error: unknown, progress?: Progress): CannotWrite {
  const remedy = REMEDIES[errorCode(error) ?? ''] ?? 'Make room, or make the folder writable'
  const message = `The tasks in ${tasks} cannot be changed: ${errorText(error)}`
  switch (progress) {
    case 'a part was changed':
      return new CannotWrite(message, `A part was changed. ${remedy}, then try again.`)
    case 'the rest waits':
      return new CannotWrite(message, `A part was changed. ${remedy}: the next change ends it.`)
    default:
      return new CannotWrite(message, `Nothing was changed. ${remedy}, then try again.`)
  }
}
