import { TaskDatabase } from '../../../tasks/database.ts'
import type { Task } from '../../../tasks/task.ts'
import type { Criterion } from '../../../tasks/text/criteria.ts'
import type { Status } from '../../../tasks/status.ts'
import {
  typedProject,
  type Suggestions,
  type ValueSource,
  type Typed,
} from '../../completions/program.ts'

/** Ids in the order of these statuses, without those already typed. */
export function ids(statuses: readonly Status[]): ValueSource {
  return (typed) => {
    const { tasks, named } = read(typed)
    const offered = tasks.filter((task) => !named.includes(task))
    return idsOf(statuses.flatMap((status) => offered.filter((task) => task.status === status)))
  }
}

export const archivedIds: ValueSource = ({ options }) =>
  idsOf(openDatabase(options).list({ archived: true }).tasks)

/** The dependencies of the typed tasks. */
export const dependencies: ValueSource = (typed) => {
  const { tasks, named } = read(typed)
  const wanted = new Set(named.flatMap((task) => task.dependencies))
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  return { candidates: [...wanted].map((value) => ({ value, text: titles.get(value) })) }
}

export const labels: ValueSource = (typed) =>
  words(read(typed).tasks.flatMap((task) => task.labels))

export const labelsOfNamed: ValueSource = (typed) =>
  words(read(typed).named.flatMap((task) => task.labels))

export const assignees: ValueSource = (typed) =>
  words(read(typed).tasks.flatMap(({ assignee }) => assignee ?? []))

/** Criterion numbers, if exactly one task is typed. */
export function criteria(isWanted: (criterion: Criterion) => boolean): ValueSource {
  return (typed) => {
    const { database, named } = read(typed)
    const [task, ...more] = named
    if (task === undefined || more.length > 0) return undefined
    const found = database.criteria(task.id).filter(isWanted)
    return { candidates: found.map(({ number, text }) => ({ value: `${number}`, text })) }
  }
}

/** The tasks of the project, and the ids typed after the command. */
function read({ command, options, positionals }: Typed) {
  const database = openDatabase(options)
  const { tasks } = database.list()
  // Words after `create` are not ids.
  const found = command === 'create' ? [] : database.resolveIds(positionals)
  return { database, tasks, named: tasks.filter(({ id }) => found.includes(id)) }
}

function openDatabase(options: Typed['options']): TaskDatabase {
  return new TaskDatabase({ project: typedProject(options).folder, isObserver: true })
}

function idsOf(tasks: readonly Task[]): Suggestions {
  return { candidates: tasks.map(({ id, title }) => ({ value: id, text: title })) }
}

function words(found: readonly string[]): Suggestions {
  return { candidates: [...new Set(found)].toSorted().map((value) => ({ value })) }
}
