import { join } from 'node:path'
import { openProject } from '../../../host/project.ts'
import { scanArchive } from '../../../tasks/archive.ts'
import { readConfig } from '../../../tasks/store/config.ts'
import { readCriteria, type Criterion } from '../../../tasks/text/criteria.ts'
import { parseId, renderId } from '../../../tasks/id.ts'
import { placesIn, type Places } from '../../../tasks/store/places.ts'
import { readTaskText, scanTasks } from '../../../tasks/store/scan.ts'
import { inListOrder, type Task } from '../../../tasks/task.ts'
import type { Status } from '../../../tasks/status.ts'
import { untilde } from '../../completions/paths.ts'
import type { Answer, Source, Typed } from '../../completions/program.ts'

/** Ids by status, in this order, without those already typed. */
export function ids(statuses: readonly Status[]): Source {
  return (typed) => {
    const { places, tasks } = read(typed)
    const named = new Set(namedTasks(typed, places, tasks))
    const offered = tasks.toSorted(inListOrder).filter((task) => !named.has(task))
    return idsOf(statuses.flatMap((status) => offered.filter((task) => task.status === status)))
  }
}

export const archivedIds: Source = ({ options }) => {
  const { tasks } = scanArchive(placesOf(options))
  return idsOf(tasks.toSorted(inListOrder))
}

/** The dependencies of the typed tasks. */
export const dependencies: Source = (typed) => {
  const { places, tasks } = read(typed)
  const wanted = new Set(namedTasks(typed, places, tasks).flatMap((task) => task.dependencies))
  const titles = new Map(tasks.map(({ id, title }) => [id, title]))
  return { candidates: [...wanted].map((value) => ({ value, text: titles.get(value) })) }
}

export const labels: Source = (typed) => words(read(typed).tasks.flatMap((task) => task.labels))

export const labelsOfNamed: Source = (typed) => {
  const { places, tasks } = read(typed)
  return words(namedTasks(typed, places, tasks).flatMap((task) => task.labels))
}

export const assignees: Source = (typed) =>
  words(read(typed).tasks.flatMap(({ assignee }) => assignee ?? []))

/** Criterion numbers, if exactly one task is typed. */
export function criteria(isWanted: (criterion: Criterion) => boolean): Source {
  return (typed) => {
    const { places, tasks } = read(typed)
    const [task, ...more] = namedTasks(typed, places, tasks)
    if (task === undefined || more.length > 0) return undefined
    const found = readCriteria(readTaskText(join(places.tasks, task.file))).filter(isWanted)
    return { candidates: found.map(({ number, text }) => ({ value: `${number}`, text })) }
  }
}

function read({ options }: Typed): { places: Places; tasks: readonly Task[] } {
  const places = placesOf(options)
  return { places, tasks: scanTasks(places).tasks }
}

function placesOf(options: Typed['options']): Places {
  const { folder } = openProject(untilde(options.get('cwd')?.at(-1)), process.env)
  return placesIn(folder)
}

/** The tasks after the command; the words of `create` are not ids. */
function namedTasks(
  { command, positionals }: Typed,
  places: Places,
  tasks: readonly Task[],
): Task[] {
  if (positionals.length === 0 || command === 'create') return []
  const { prefix } = readConfig(places)
  const named = new Set(positionals.flatMap((word) => idOf(word, prefix) ?? []))
  return tasks.filter(({ id }) => named.has(id))
}

function idOf(word: string, prefix: string): string | undefined {
  try {
    return renderId(parseId(word, prefix))
  } catch {
    return undefined
  }
}

function idsOf(tasks: readonly Task[]): Answer {
  return { candidates: tasks.map(({ id, title }) => ({ value: id, text: title })) }
}

function words(found: readonly string[]): Answer {
  return { candidates: [...new Set(found)].toSorted().map((value) => ({ value })) }
}
