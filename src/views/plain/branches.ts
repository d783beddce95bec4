import { printable } from '../../base/terminal/printable.ts'
import { branchName } from '../../records/events/branch-name.ts'
import type { OutputChunk } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { groupAt } from '../../records/events/state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { describeItem } from '../runs.ts'
import type { Output } from '../view.ts'
import { cut } from '../terminal/columns.ts'
import { BranchOutput } from './branch-output.ts'
import { EventLines, type SharedLines } from './event-lines.ts'

const WIDEST_NAME = 20

/** The first event of a branch. */
const BEGINS: ReadonlySet<string> = new Set(['branch_started', 'step_started', 'group_started'])

/** The lines of one part of a run. */
interface Place {
  readonly lines: EventLines
  /** Absent outside of branches. */
  readonly output?: BranchOutput
}

/** Shows a run, with each branch on separate lines. */
export class BranchViews {
  readonly #screen: Output
  readonly #shared: SharedLines
  readonly #main: Place
  readonly #places = new Map<string, Place>()
  /** The items whose copies are at work. */
  readonly #announced = new Set<string>()

  constructor(screen: Output, shared: SharedLines) {
    this.#screen = screen
    this.#shared = shared
    this.#main = { lines: new EventLines(screen, shared, false) }
  }

  show(event: RunEvent): void {
    if (BEGINS.has(event.type) && 'scope' in event) this.#announce(event.scope)
    const { lines, output } = this.#at('scope' in event ? event.scope : undefined)
    if (!isDuringOutput(event)) output?.finishLines()
    lines.show(event)
    if (event.type === 'step_ended' || event.type === 'group_ended') this.#forget(event.scope)
    if (event.type === 'run_ended') this.end()
  }

  output(chunk: OutputChunk): void | Promise<void> {
    return this.#at(chunk.scope).lines.output(chunk)
  }

  end(): void {
    for (const { output } of this.#places.values()) output?.finishLines()
  }

  /** Announces the copies of a step or group before the first one begins. */
  #announce(scope: readonly string[]): void {
    const { state } = this.#shared
    const key = keyOfScope(scope)
    const item = itemOf(key)
    const place = state.steps.find((step) => step.key === key) ?? groupAt(state, key)
    if (item === undefined || place === undefined || this.#announced.has(item)) return
    this.#announced.add(item)
    // All parts of a parallel group are announced together.
    if (groupAt(state, place.list)?.kind === 'parallel') return
    const first = 'first' in place ? place.first : place.number
    const { words, count } = describeItem(state, place.list, first)
    const { lines } = this.#at(place.list.split('/'))
    const { maxParallel: most = count } = state
    const limit = count > most ? `, at most ${most} at once` : ''
    lines.begin(`In parallel: ${count} copies of ${words}${limit}`, first > 1)
  }

  /** Once all copies have ended, they may begin again in another round. */
  #forget(scope: readonly string[]): void {
    const item = itemOf(keyOfScope(scope))
    const { steps, groups = [] } = this.#shared.state
    const copies = [...steps, ...groups].filter(({ key }) => itemOf(key) === item)
    if (item !== undefined && copies.every(({ reason }) => reason !== undefined))
      this.#announced.delete(item)
  }

  #at(scope: readonly string[] = []): Place {
    const key = keyOfScope(scope)
    const known = this.#places.get(key)
    if (known !== undefined) return known
    const name = branchName(this.#shared.state, scope)
    if (name === undefined) return this.#main
    const output = new BranchOutput(this.#screen, this.#prefixOf(name, key))
    const place = { lines: new EventLines(output, this.#shared, true), output }
    this.#places.set(key, place)
    return place
  }

  /** Names of everything that runs in parallel are padded to the same width. */
  #prefixOf(name: string, key: string): string {
    const { state } = this.#shared
    const [item] = key.split('/')
    const names = state.steps.flatMap(({ key: other }) => {
      const parts = other.split('/')
      return parts[0] === item ? (branchName(state, parts) ?? []) : []
    })
    const widths = [name, ...names].map((each) => Bun.stringWidth(shortName(each)))
    const shown = shortName(name)
    return `${shown}${' '.repeat(Math.max(...widths) - Bun.stringWidth(shown))} │ `
  }
}

/** Whether the agent of the step may be in the middle of a line. */
function isDuringOutput(event: RunEvent): boolean {
  const isOfTask = 'task' in event && event.task !== undefined
  return isOfTask || event.type === 'message' || event.type === 'tool'
}

/** The key that all copies of a step or group have in common; undefined if it is not a copy. */
function itemOf(key: string): string | undefined {
  return /^(.*)\/c\d+$/.exec(key)?.[1]
}

/** Cuts a name, but keeps the number of the copy. */
function shortName(name: string): string {
  const [, words = '', number = ''] = /^(.*?)(#[\d.]+)?$/.exec(printable(name)) ?? []
  return `${cut(words, WIDEST_NAME - number.length)}${number}`
}
