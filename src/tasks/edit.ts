import { UserError } from '../base/errors.ts'
import { applyChanges, isNothing, type Changes } from './text/changes.ts'
import { findCycleThrough } from './cycles.ts'
import { change } from './store/change.ts'
import { checkChanges } from './text/check-fields.ts'
import { checkCriteria, checkDue, checkLabels, checkTitle } from './text/check-text.ts'
import { finish, listUndone } from './done.ts'
import { findTask, notFoundError, resolveId, type TaskText } from './find.ts'
import { isHeldByAnother, type Caller } from './claims/owner.ts'
import type { TaskFolders } from './folders.ts'
import { Graph } from './ready.ts'
import { Refused } from './refused.ts'
import { isArchived } from './archive.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim } from './store/state-shape.ts'
import { extendLeases } from './claims/leases.ts'
import { claimForIteration, followStatus } from './claims/claim-changes.ts'
import { parseTask, type Task } from './task.ts'
import { versionOf, type Undo } from './undo.ts'

export interface EditOptions extends Caller {
  /** Allows Done with open criteria or dependencies, and adds a note. */
  readonly force?: boolean
  /** Called for each claim of another owner that the new status ends. */
  readonly onClaimEnded?: (id: string, claim: Claim) => void
  /** Called with what may not be intended, such as a label to remove that the task does not have. */
  readonly onDoubt?: (id: string, what: string) => void
  /** Called for each task with what is needed to undo the change. */
  readonly onChange?: (undo: Undo) => void
}

interface Edited {
  readonly before: TaskText
  readonly text: string
  readonly task: Task
}

/** Changes all tasks or none; returns them as they are afterwards. */
export function editTasks(
  folders: TaskFolders,
  words: readonly string[],
  changes: Changes,
  options: EditOptions,
): Task[] {
  const resolved = resolveIds(folders, checkTexts(checkChanges(changes)))
  return change(folders, (draft) => {
    const { owner, now } = options
    const changed = words.map((word) =>
      editOne(folders, findTask(folders, word), resolved, options),
    )
    checkReferences(folders, changed, resolved)
    if (resolved.status === undefined) reportStillDone(folders, changed, resolved, options)
    const edited = resolved.status === 'Done' ? finishAll(folders, changed, options) : changed
    draft.state = extendLeases(draft.state, owner, now)
    const unchanged = draft.state
    for (const { before, text, task } of edited) {
      if (text !== before.text) draft.write(before.path, text)
      if (resolved.status === 'In Progress') {
        draft.state = claimForIteration(draft.state, task.id, owner, { folders, now })
      }
      // A claim ends when the status of its task changes.
      if (task.status === before.task.status) continue
      const on = { owner: owner.name, folders, now }
      const held = draft.state.claims[task.id]
      if (task.status !== 'In Progress' && isHeldByAnother(held, options)) {
        options.onClaimEnded?.(task.id, held)
      }
      draft.state = followStatus(draft.state, task.id, task.status, on)
    }
    for (const { before, text, task } of edited) {
      options.onChange?.({
        id: task.id,
        path: before.path,
        before: versionOf(unchanged, task.id, before.text),
        after: versionOf(draft.state, task.id, text),
      })
    }
    return edited.map(({ task }) => task)
  })
}

function editOne(
  folders: TaskFolders,
  before: TaskText,
  changes: Changes,
  options: EditOptions,
): Edited {
  if (isArchived(before, folders)) refuseOpening(before.task, changes)
  reportMissing(before.task, changes, options)
  const text = withTaskId(before.task, () => applyChanges(before.text, changes, options.now))
  return { before, text, task: parseTask(text, before.task.file) }
}

function reportMissing(
  { id, labels, dependencies }: Task,
  { removeLabels = [], removeDependencies = [] }: Changes,
  { onDoubt }: EditOptions,
): void {
  for (const label of removeLabels.map((each) => each.trim()))
    if (!labels.includes(label)) onDoubt?.(id, `has no label '${label}'`)
  for (const each of removeDependencies)
    if (!dependencies.includes(each)) onDoubt?.(id, `does not depend on ${each}`)
}

/** No agent takes up work that is added to a finished task. */
function reportStillDone(
  folders: TaskFolders,
  edited: readonly Edited[],
  { addCriteria = [], uncheckCriteria = [], addDependencies = [] }: Changes,
  { onDoubt }: EditOptions,
): void {
  const isOpen = addCriteria.length + uncheckCriteria.length > 0
  for (const { task } of edited) {
    if (task.status !== 'Done') continue
    if (!isOpen && listUndone(folders, addDependencies, new Map()).length === 0) continue
    onDoubt?.(task.id, 'is Done, so no agent will work on it; set it to To Do to reopen it')
  }
}

/** Runs after all changes of the call, which may finish dependencies too. */
function finishAll(
  folders: TaskFolders,
  edited: readonly Edited[],
  options: EditOptions,
): Edited[] {
  const { force = false, now } = options
  const changed = new Map(edited.map(({ task }) => [task.id, task.status]))
  return edited.map(({ before, text, task }) => ({
    before,
    text: finish(task, text, { folders, changed, force, now }),
    task,
  }))
}

/** No command would offer a reopened task that is in the archive. */
function refuseOpening({ id, status: before }: Task, { status }: Changes): void {
  if (status === undefined || status === 'Done' || status === before) return
  throw new Refused(`${id} is archived.`, `Unarchive it first: forge-tasks unarchive ${id}`)
}

/** Adds the id to an error, because a call may edit several tasks. */
function withTaskId<Result>({ id }: Task, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    throw new Refused(`${id}: ${error.message}`, error.hint)
  }
}

function checkTexts(changes: Changes): Changes {
  if (isNothing(changes)) {
    throw new UserError('No changes given.', 'Pass at least one, for example a status or a note.')
  }
  if (changes.due !== undefined) checkDue(changes.due)
  checkCriteria(changes.addCriteria ?? [])
  checkLabels(changes.addLabels ?? [])
  return changes.title === undefined ? changes : { ...changes, title: checkTitle(changes.title) }
}

function resolveIds(folders: TaskFolders, changes: Changes): Changes {
  const id = (word: string) => resolveId(folders, word)
  return {
    ...changes,
    addDependencies: (changes.addDependencies ?? []).map(id),
    removeDependencies: (changes.removeDependencies ?? []).map(id),
    ...(changes.parent ? { parent: id(changes.parent) } : {}),
  }
}

/** Refuses missing references and cycles. */
function checkReferences(folders: TaskFolders, edited: readonly Edited[], changes: Changes): void {
  const added = changes.addDependencies ?? []
  if (added.length === 0 && !changes.parent) return
  const now = new Map(edited.map(({ task }) => [task.id, task]))
  const scan = scanTasks(folders)
  const tasks = scan.tasks.map((task) => now.get(task.id) ?? task)
  const graph = new Graph(folders, { tasks, broken: scan.broken })
  for (const id of [...added, ...(changes.parent ? [changes.parent] : [])]) {
    if (!graph.has(id)) throw notFoundError(id, tasks)
  }
  for (const { task } of edited) {
    if (changes.parent) refuseParent(graph, task.id, changes.parent)
    const cycle = findCycleThrough(task.id, added, graph.edges)
    if (cycle === undefined) continue
    throw new Refused(
      `${task.id} would depend on itself: ${cycle.join(' -> ')}`,
      'Remove one of these dependencies first.',
    )
  }
}

function refuseParent(graph: Graph, id: string, parent: string): void {
  if (parent === id) throw new Refused(`${id} cannot be its own parent.`)
  const cycle = findCycleThrough(id, [parent], graph.parents)
  if (cycle === undefined) return
  throw new Refused(
    `${id} would be its own ancestor: ${cycle.join(' -> ')}`,
    'Remove one of these parents first.',
  )
}
