import { join } from 'node:path'
import { ALONE, type GitOptions } from './git-command.ts'
import {
  listMoved,
  markOf,
  readHead,
  readSettings,
  type GitPlace,
  type Settings,
} from './git-marks.ts'
import { Printer } from './git-print.ts'
import type { Status } from './git-status.ts'
import { pathspecs } from './pathspecs.ts'
import { askStatus, makeLook, type Look } from './progress.ts'
import { TreeWatch } from './tree-watch.ts'

const WITH_IGNORED = '--ignored=matching'

/** Whoever has more of these has them in files of which each is ignored for itself. */
const MOST_IGNORED = 50_000

/** More are a folder such as node_modules, and git is to say first whether it is ignored. */
const MOST_NEW_FOLDERS = 200

/** What decides which paths can differ, beside the working tree. */
interface Moment {
  readonly index: string
  readonly head: string | undefined
}

/** What the last look saw. */
interface Seen extends Moment {
  readonly look: Look
  readonly uncounted: string
  readonly dirty: readonly string[]
  readonly hasRepository: boolean
}

/**
 * Asks git only about what may differ since the last look: what was touched, what differed then, and
 * what moved in the index or in HEAD. What comes out is what a look at everything would see.
 */
export class RepositoryWatch {
  readonly #place: GitPlace
  readonly #settings: Settings
  readonly #tree: TreeWatch
  readonly #ignored: Set<string>
  #last: Seen | undefined
  #isLost = false

  private constructor(place: GitPlace, settings: Settings, tree: TreeWatch, ignored: Set<string>) {
    this.#place = place
    this.#settings = settings
    this.#tree = tree
    this.#ignored = ignored
  }

  /** Undefined where the system cannot watch all of it. */
  static async begin(place: GitPlace, options: GitOptions): Promise<RepositoryWatch | undefined> {
    const settings = await readSettings(place, options)
    const status = settings && (await askStatus(settings.noFilters, [WITH_IGNORED], options))
    if (settings === undefined || status === undefined) return undefined
    const ignored = new Set(status.ignored)
    if (ignored.size > MOST_IGNORED) return undefined
    const tree = TreeWatch.open(place.root, ignored)
    if (tree === undefined) return undefined
    if (await tree.watch('', options.deadline)) {
      return new RepositoryWatch(place, settings, tree, ignored)
    }
    tree.close()
    return undefined
  }

  /** It does not know any more what happens, and has to begin anew. */
  get isLost(): boolean {
    return this.#isLost
  }

  close(): void {
    this.#tree.close()
  }

  /** A look at all files, after which others can be quick; undefined where git cannot be asked. */
  async lookFully(options: GitOptions, uncounted: readonly string[]): Promise<Look | undefined> {
    await this.#drain(options.deadline)
    const index = this.#markIndex()
    const status = await askStatus(this.#settings.noFilters, [WITH_IGNORED], options)
    if (status === undefined) return undefined
    const ignored = new Set(status.ignored)
    const isBack = (path: string) => path.endsWith('/') && !ignored.has(path)
    // What git has begun to look into is not watched.
    if ([...this.#ignored].some((path) => isBack(path) && this.#tree.isFolder(path.slice(0, -1))))
      this.#isLost = true
    this.#ignored.clear()
    return this.#settle(status, { index, head: status.head }, options, uncounted)
  }

  /** Undefined where only a look at all files can tell. */
  async look(options: GitOptions, uncounted: readonly string[]): Promise<Look | undefined> {
    const last = this.#last
    // Until this one has come to its end, what was touched is only known here.
    this.#last = undefined
    if (last?.head === undefined || this.#isLost) return undefined
    const touched = await this.#drain(options.deadline)
    const now = { index: this.#markIndex(), head: await readHead(this.#place, options) }
    if (touched === undefined || now.head === undefined) return undefined
    const isSame = now.index === last.index && now.head === last.head
    const isStill = isSame && touched.size === 0 && last.uncounted === uncounted.join('\0')
    if (isStill && !last.hasRepository && this.#tree.repositories.size === 0) {
      this.#last = last
      return last.look
    }
    const paths = new Set([...touched, ...last.dirty, ...this.#tree.repositories])
    const status = await this.#askFor(paths, isSame ? undefined : last.head, now.head, options)
    // It may have moved in between.
    if (status?.head !== now.head) return undefined
    return this.#settle(status, now, options, uncounted)
  }

  /** Paths that were touched; undefined where that is not known of all. */
  async #drain(deadline: number): Promise<ReadonlySet<string> | undefined> {
    const touched = this.#tree.drain()
    if (touched === undefined || markOf(this.#settings.files) !== this.#settings.mark) {
      this.#isLost = true
      return undefined
    }
    for (const folder of touched.folders) {
      if (!(await this.#tree.watch(folder, deadline, MOST_NEW_FOLDERS))) this.#isLost = true
    }
    return this.#isLost ? undefined : touched.paths
  }

  #markIndex(): string {
    return markOf([join(this.#place.gitDir, 'index')])
  }

  async #askFor(
    paths: ReadonlySet<string>,
    before: string | undefined,
    head: string,
    options: GitOptions,
  ): Promise<Status | undefined> {
    const [status, moved] = await Promise.all([
      this.#askAbout(paths, head, options),
      before === undefined ? [] : listMoved(this.#place, before, head, options),
    ])
    if (status === undefined || moved === undefined) return undefined
    this.#notice(moved)
    return moved.every((path) => paths.has(path))
      ? status
      : this.#askAbout(new Set([...paths, ...moved]), head, options)
  }

  async #askAbout(
    paths: ReadonlySet<string>,
    head: string,
    options: GitOptions,
  ): Promise<Status | undefined> {
    const specs = pathspecs(paths)
    if (specs === undefined) return undefined
    if (specs.length === 0) return { head, entries: [], ignored: [] }
    const before = [...ALONE, ...this.#settings.noFilters]
    return askStatus(before, [WITH_IGNORED, '--', ...specs], options)
  }

  async #settle(
    status: Status,
    { index, head }: Moment,
    options: GitOptions,
    uncounted: readonly string[],
  ): Promise<Look | undefined> {
    for (const path of status.ignored) {
      this.#ignored.add(path)
      if (path.endsWith('/')) this.#tree.leave(path.slice(0, -1))
    }
    if (this.#ignored.size > MOST_IGNORED) this.#isLost = true
    const dirty = status.entries.map(({ path }) => path.toString('latin1'))
    this.#notice(dirty)
    const round = { ...options, root: this.#place.root, printer: new Printer() }
    const look = await makeLook(status, round, uncounted)
    if (look === undefined) return undefined
    const hasRepository = status.entries.some(({ isRepository }) => isRepository)
    this.#last = { look, index, head, dirty, hasRepository, uncounted: uncounted.join('\0') }
    return look
  }

  /** Git looks at these, even where they were ignored up to now. */
  #notice(paths: readonly string[]): void {
    for (const path of paths) this.#ignored.delete(path)
    if (!paths.every((path) => this.#tree.sees(path))) this.#isLost = true
  }
}
