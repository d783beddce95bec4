import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { UserError } from '../base/errors.ts'
import { applyChanges, type Changes } from './changes.ts'
import { readConfig } from './config.ts'
import { idOfFileName, makeFileName } from './file-name.ts'
import { parseId, renderId } from './id.ts'
import type { Places } from './places.ts'
import { change, writeTask } from './state.ts'
import type { Priority, Status } from './words.ts'

/** A task to be made. `dependencies` may be ids, or `@key` for another one of the same batch. */
export interface NewTask {
  readonly key?: string | undefined
  readonly title: string
  readonly description?: string | undefined
  readonly status?: Status | undefined
  readonly priority?: Priority | undefined
  readonly assignee?: string | undefined
  readonly labels?: readonly string[]
  readonly dependencies?: readonly string[]
  readonly parent?: string | undefined
  readonly criteria?: readonly string[]
  readonly plan?: string | undefined
  readonly due?: string | undefined
}

export class Refused extends UserError {
  override readonly exitCode: number = 1
}

/** Makes tasks, all or none, and gives their ids in the same order. */
export function createTasks(places: Places, tasks: readonly NewTask[], now: Date): string[] {
  for (const { title } of tasks) checkTitle(title)
  const { prefix, defaults } = readConfig(places)
  return change(places, (state, save) => {
    const names = [...listNames(places.tasks), ...listNames(places.archive)]
    const known = lazy(() => new Set(names.flatMap((name) => idsOf(name))))
    const first = Math.max(state.numbers[prefix] ?? 0, highest(names, prefix)) + 1
    const ids = tasks.map((_, index) => renderId({ prefix, number: first + index }))
    const keys = keysOf(tasks, ids)
    const resolve = (word: string) => resolveReference(word, keys, known, prefix)
    const files = tasks.map((task, index) => {
      const id = ids[index]!
      const withDefaults = {
        ...task,
        priority: task.priority ?? defaults.priority,
        labels: [...new Set([...(defaults.labels ?? []), ...(task.labels ?? [])])],
        dependencies: [...new Set((task.dependencies ?? []).map(resolve))],
        parent: task.parent === undefined ? undefined : resolve(task.parent),
      }
      const name = makeFileName({ prefix, number: first + index }, task.title)
      return { path: join(places.tasks, name), id, task: withDefaults }
    })
    refuseCycles(files)
    // First the number: a crash then costs a number, never a second task of the same one.
    save({ ...state, numbers: { ...state.numbers, [prefix]: first + tasks.length - 1 } })
    const texts = files.map(({ path, id, task }) => ({ path, text: renderNew(id, task, now) }))
    for (const { path, text } of texts) writeTask(places, path, text)
    return ids
  })
}

function checkTitle(title: string): void {
  if (title.trim() === '')
    throw new UserError('The title is empty.', 'Say in a few words what is to be done.')
  if (title.includes('\0')) throw new UserError('The title has a NUL character.')
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function idsOf(name: string): string[] {
  const id = idOfFileName(name)
  return id === undefined ? [] : [renderId(id)]
}

function highest(names: readonly string[], prefix: string): number {
  const start = `${prefix}-`
  let most = 0
  for (const name of names) {
    if (!name.startsWith(start)) continue
    const number = Number.parseInt(name.slice(start.length), 10)
    if (number > most) most = number
  }
  return most
}

function lazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined
  return () => (made ??= { value: make() }).value
}

function keysOf(tasks: readonly NewTask[], ids: readonly string[]): Map<string, string> {
  const keys = new Map<string, string>()
  for (const [index, { key }] of tasks.entries()) {
    if (key === undefined) continue
    if (keys.has(key)) throw new Refused(`The key '${key}' is there twice.`)
    keys.set(key, ids[index]!)
  }
  return keys
}

function resolveReference(
  word: string,
  keys: ReadonlyMap<string, string>,
  known: () => ReadonlySet<string>,
  prefix: string,
): string {
  if (word.startsWith('@')) {
    const id = keys.get(word.slice(1))
    if (id !== undefined) return id
    throw new Refused(`No task of this batch has the key '${word.slice(1)}'.`)
  }
  const id = renderId(parseId(word, prefix))
  if (known().has(id)) return id
  throw new Refused(`There is no task ${id} to depend on.`, 'Create it first, or leave it out.')
}

/** Only a batch can close a circle: nothing that was there before depends on what is new. */
function refuseCycles(
  files: readonly { id: string; task: { dependencies: readonly string[] } }[],
): void {
  const edges = new Map(files.map(({ id, task }) => [id, task.dependencies]))
  const seen = new Set<string>()
  const visit = (id: string, path: readonly string[]): void => {
    if (path.includes(id)) {
      const circle = [...path.slice(path.indexOf(id)), id].join(' -> ')
      throw new Refused(`These tasks wait for each other: ${circle}`)
    }
    if (seen.has(id)) return
    for (const next of edges.get(id) ?? []) if (edges.has(next)) visit(next, [...path, id])
    seen.add(id)
  }
  for (const { id } of files) visit(id, [])
}

function renderNew(id: string, task: NewTask, now: Date): string {
  const blank = `---\nid: ${id}\n---\n\n## Description\n\n## Acceptance Criteria\n\n<!-- AC:BEGIN -->\n<!-- AC:END -->\n\n## Implementation Plan\n\n## Implementation Notes\n`
  const title: Changes = {
    title: task.title.trim().replaceAll(/\s+/g, ' '),
    status: task.status ?? 'To Do',
  }
  const text = applyChanges(blank, title, now)
  const { priority, assignee, parent, due, description, plan } = task
  return applyChanges(
    applyChanges(
      text,
      {
        priority,
        assignee,
        addLabels: task.labels ?? [],
        addDependencies: task.dependencies ?? [],
      },
      now,
    ),
    {
      parent,
      due,
      description: description || undefined,
      plan: plan || undefined,
      addCriteria: task.criteria ?? [],
    },
    now,
  ).replace(
    /^---\n([\s\S]*?)\n---\n/,
    (_, yaml: string) => `---\n${yaml}\ncreatedAt: ${now.toISOString()}\n---\n`,
  )
}
