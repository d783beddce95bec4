import { dirname, join } from 'node:path'
import type { Draft } from '../store/change.ts'
import { applyChanges } from '../text/changes.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { setField } from '../text/frontmatter.ts'
import { readId, renderId, type TaskId } from '../id.ts'
import type { Places } from '../store/places.ts'
import { listFiles, readTaskFile, readTaskText } from '../store/scan.ts'
import { byAge } from '../task.ts'
import type { Ailment, Finding } from './finding.ts'
import { isMeant, type Placed } from './origin.ts'

/** Tasks that got the same id in two clones. The younger one gets a new one. */
export const twins: Ailment = {
  // Two open ones are among the broken files already.
  find: (places) =>
    twinsIn(allTasks(places))
      .filter((pair) => Object.values(pair).some(({ path }) => dirname(path) !== places.tasks))
      .map(({ older, younger }) => ({ file: younger.task.file, problem: problemOf(older) })),

  mend: (places, _scan, draft) => {
    const all = allTasks(places)
    const texts = new Map(all.map(({ path }) => [path, readTaskText(path)]))
    const findings = twinsIn(all).flatMap(({ older, younger }) => {
      const id = newId(draft, places, younger.task.id)
      const meant = all.filter(
        (each) => refersTo(each, younger.task.id) && isMeant(each, younger, older, places),
      )
      const moved = giveId(younger, id, texts, draft)
      return [
        { file: younger.task.file, problem: problemOf(older), mended: moved },
        ...meant.map((each) => renameReference(each, younger.task.id, id, texts)),
      ]
    })
    for (const { path } of all) {
      const text = texts.get(path)!
      if (text !== readTaskText(path)) draft.write(path, text)
    }
    return findings
  },
}

function allTasks({ tasks, archive }: Places): Placed[] {
  return [tasks, archive].flatMap((folder) =>
    listFiles(folder).flatMap((file) => {
      const path = join(folder, file)
      const task = readTaskFile(path, file)
      return 'problem' in task ? [] : [{ task, path }]
    }),
  )
}

function twinsIn(all: readonly Placed[]): { readonly older: Placed; readonly younger: Placed }[] {
  return [...Map.groupBy(all, ({ task }) => task.id).values()].flatMap((group) => {
    const [older, ...others] = group.toSorted((a, b) => byAge(a.task, b.task))
    return others.map((younger) => ({ older: older!, younger }))
  })
}

function problemOf({ task }: Placed): string {
  return `its id ${task.id} is also that of "${task.file}"`
}

/** An id that nobody has or had, archived and broken files included. */
function newId(draft: Draft, places: Places, twin: string): TaskId {
  const { prefix } = readId(twin)!
  const { state } = draft
  const files = [...listFiles(places.tasks), ...listFiles(places.archive)]
  const ids = [...files.map(idOfFileName), ...allTasks(places).map(({ task }) => readId(task.id))]
  const numbers = ids.flatMap((id) => (id?.prefix === prefix ? [id.number] : []))
  const number = Math.max(state.numbers[prefix] ?? 0, ...numbers) + 1
  draft.state = { ...state, numbers: { ...state.numbers, [prefix]: number } }
  return { prefix, number }
}

function giveId(
  { task, path }: Placed,
  id: TaskId,
  texts: Map<string, string>,
  draft: Draft,
): string {
  texts.set(path, setField(texts.get(path)!, 'id', renderId(id)))
  draft.move(path, join(dirname(path), makeFileName(id, task.title)))
  return `it is ${renderId(id)} now`
}

function refersTo({ task }: Placed, id: string): boolean {
  return task.dependencies.includes(id) || task.parent === id
}

function renameReference(
  { task, path }: Placed,
  from: string,
  id: TaskId,
  texts: Map<string, string>,
): Finding {
  const to = renderId(id)
  const changes = {
    ...(task.dependencies.includes(from)
      ? { removeDependencies: [from], addDependencies: [to] }
      : {}),
    ...(task.parent === from ? { parent: to } : {}),
  }
  texts.set(path, applyChanges(texts.get(path)!, changes, new Date()))
  return { file: task.file, problem: `refers to ${from}, which is ${to} now`, mended: 'it says so' }
}
