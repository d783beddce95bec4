import type { AsideWork } from '../../records/events/schema.ts'
import type { Context } from '../context.ts'
import type { Branches } from './branches.ts'

/** The branches of a run, loaded on demand because most runs have none. */
export class LazyBranches {
  readonly #context: Context
  #loading: Promise<Branches> | undefined

  constructor(context: Context) {
    this.#context = context
  }

  load(): Promise<Branches> {
    this.#loading ??= import('./branches.ts').then((loaded) => new loaded.Branches(this.#context))
    return this.#loading
  }

  /** Completes what a killed process had begun. */
  async recover(): Promise<void> {
    if ((this.#context.ports.state().moving ?? []).length > 0) await (await this.load()).recover()
  }

  async end(): Promise<AsideWork[]> {
    const { branches = [] } = this.#context.ports.state()
    return branches.length === 0 ? [] : (await this.load()).end()
  }
}
