import { UserError } from '../base/errors.ts'
import { applyChanges, isNothing, type Changes } from './text/changes.ts'
import { change } from './store/change.ts'
import { checkCriteria, checkDue, checkLabels, checkTitle } from './text/check-text.ts'
import { readCriteria } from './text/criteria.ts'
import { CannotChange } from './text/frontmatter.ts'
import { findTask, missing, resolveId, type TaskText } from './find.ts'
import { renderId } from './id.ts'
import { isHeldByAnother, type Owner } from './claims/owner.ts'
import type { Places } from './store/places.ts'
import { Graph } from './ready.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim } from './store/state.ts'
import { renew } from './claims/leases.ts'
import { settleClaim } from './claims/settle.ts'
import { parseTask, type Task } from './task.ts'

export interface EditOptions {
  /** Done counts although criteria are open; it is noted. */
  readonly force?: boolean
  readonly owner: Owner
  readonly now: Date
  /** Told of each claim of another one that ends with the new status. */
  readonly onTaken?: (id: string, claim: Claim) => void
}

interface Edited {
  readonly before: TaskText
  readonly text: string
  readonly task: Task
}

/** Changes tasks, all of them or none; gives them as they are now. */
export function editTasks(
  places: Places,
  words: readonly string[],
  changes: Changes,
  options: EditOptions,
): Task[] {
  const resolved = resolveIds(places, checkTexts(changes))
  return change(places, (draft) => {
    const { owner, now } = options
    const edited = words.map((word) => editOne(findTask(places, word), resolved, options))
    checkReferences(places, edited, resolved)
    draft.state = renew(draft.state, owner, now)
    for (const { before, text, task } of edited) {
      if (text !== before.text) draft.write(before.path, text)
      // A claim ends with the status of its task.
      if (task.status === before.task.status) continue
      const on = { owner: owner.name, places, now }
      const held = draft.state.claims[task.id]
      if (
        task.status !== 'In Progress' &&
        held !== undefined &&
        isHeldByAnother(held, owner, now)
      ) {
        options.onTaken?.(task.id, held)
      }
      draft.state = settleClaim(draft.state, task.id, task.status, on)
    }
    return edited.map(({ task }) => task)
  })
}

function editOne(before: TaskText, changes: Changes, options: EditOptions): Edited {
  const changed = naming(before.task, () => applyChanges(before.text, changes, options.now))
  const text = finish(before, changed, changes, options)
  return { before, text, task: parseTask(text, before.task.file) }
}

/** Of several tasks only one may be the reason to change none. */
function naming<Result>({ id }: Task, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refused || error instanceof CannotChange)) throw error
    throw new Refused(`${id}: ${error.message}`, error.hint)
  }
}

/** Done means done: judged after all changes of the same call. */
function finish(before: TaskText, text: string, changes: Changes, options: EditOptions): string {
  if (changes.status !== 'Done') return text
  const open = readCriteria(text).filter((criterion) => !criterion.isDone)
  if (open.length === 0) return text
  const list = open.map(({ number, text: words }) => `#${number} ${words.replaceAll('\n', ' ')}`)
  if (options.force === true) {
    const note = `Marked done with open criteria: ${list.join('; ')}`
    return applyChanges(text, { appendNotes: [note] }, options.now)
  }
  throw new Refused(
    `${before.task.id} has open acceptance criteria:\n${list.map((line) => `  ${line}`).join('\n')}`,
    'Check them with --check-ac N, or override with --force.',
  )
}

function checkTexts(changes: Changes): Changes {
  if (isNothing(changes)) {
    throw new UserError('Nothing is to be changed.', 'Say what, e.g. the status or a note.')
  }
  if (changes.due !== undefined) checkDue(changes.due)
  checkCriteria(changes.addCriteria ?? [])
  checkLabels(changes.addLabels ?? [])
  return changes.title === undefined ? changes : { ...changes, title: checkTitle(changes.title) }
}

function resolveIds(places: Places, changes: Changes): Changes {
  const id = (word: string) => renderId(resolveId(places, word))
  return {
    ...changes,
    addDependencies: (changes.addDependencies ?? []).map(id),
    removeDependencies: (changes.removeDependencies ?? []).map(id),
    ...(changes.parent ? { parent: id(changes.parent) } : {}),
  }
}

/** Dependencies exist, and nobody waits for himself, over however many others. */
function checkReferences(places: Places, edited: readonly Edited[], changes: Changes): void {
  const added = changes.addDependencies ?? []
  if (added.length === 0 && !changes.parent) return
  const now = new Map(edited.map(({ task }) => [task.id, task]))
  const scan = scanTasks(places)
  const tasks = scan.tasks.map((task) => now.get(task.id) ?? task)
  const graph = new Graph(places, { tasks, broken: scan.broken }, new Map())
  for (const id of [...added, ...(changes.parent ? [changes.parent] : [])]) {
    if (!graph.has(id)) throw missing(places, resolveId(places, id))
  }
  for (const { task } of edited) {
    if (changes.parent) refuseParent(graph, task.id, changes.parent)
    const cycle = graph.cycleThrough(task.id, added)
    if (cycle === undefined) continue
    throw new Refused(
      `${task.id} would wait for itself: ${cycle.join(' -> ')}`,
      'Remove one of these dependencies first.',
    )
  }
}

function refuseParent(graph: Graph, id: string, parent: string): void {
  if (parent === id) throw new Refused(`${id} cannot be its own parent.`)
  const cycle = graph.parentCycleThrough(id, parent)
  if (cycle === undefined) return
  throw new Refused(
    `${id} would be a part of itself: ${cycle.join(' -> ')}`,
    'Remove one of these parents first.',
  )
}
