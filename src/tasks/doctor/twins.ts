import { dirname, join } from 'node:path'
import type { Draft } from '../store/change.ts'
import { applyChanges } from '../text/changes.ts'
import { idOfFileName, makeFileName } from '../file-name.ts'
import { setField } from '../text/frontmatter.ts'
import { HIGHEST_NUMBER, readId, renderId, type TaskId } from '../id.ts'
import type { Places } from '../store/places.ts'
import { listFiles } from '../store/folder.ts'
import { readTaskText } from '../store/scan.ts'
import { byAge } from '../task.ts'
import { copiesIn } from './copies.ts'
import type { Ailment, Finding, Mending } from './finding.ts'
import { isMeant } from './origin.ts'
import { allTasks, isArchived, nameOf, type Placed } from './placed.ts'

/** Tasks that got the same id in two clones. The younger one gets a new one. */
export const twins: Ailment = {
  // Two open ones are among the broken files already.
  find: (places) =>
    twinsIn(allTasks(places), places)
      .filter(({ older, younger }) => [older, younger].some((each) => isArchived(each, places)))
      .map((pair) => findingOf(pair, places)),

  mend: (places, _scan, mending) => {
    const all = allTasks(places)
    const pairs = twinsIn(all, places)
    if (pairs.length === 0) return []
    const giveNumber = makeNumbers(mending.draft, places, all)
    const texts = new Texts()
    const findings = pairs.flatMap((pair) => {
      const id = giveNumber(readId(pair.younger.task.id)!.prefix)
      return id === undefined ? [] : mendPair(pair, id, { all, places, texts, mending })
    })
    texts.write(mending.draft)
    return findings
  },
}

interface Pair {
  readonly older: Placed
  readonly younger: Placed
}

interface Surroundings {
  readonly all: readonly Placed[]
  readonly places: Places
  readonly texts: Texts
  readonly mending: Mending
}

function mendPair(
  pair: Pair,
  id: TaskId,
  { all, places, texts, mending }: Surroundings,
): Finding[] {
  const { task, path } = pair.younger
  const meant = all.filter(
    (each) =>
      referencesOf(each).includes(task.id) && mending.meant.has(referenceKey(each, pair.younger)),
  )
  texts.change(path, (text) => setField(text, 'id', renderId(id)))
  mending.draft.move(path, join(dirname(path), makeFileName(id, task.title)))
  return [
    { ...findingOf(pair, places), mended: `it is ${renderId(id)} now` },
    ...meant.map((each) => renameReference(each, task.id, id, texts, mending.now)),
  ]
}

/** The references that mean the younger one of two twins. Git is asked, which takes its time. */
export function findMeant(places: Places): ReadonlySet<string> {
  const all = allTasks(places)
  const referring = Map.groupBy(
    all.flatMap((each) => referencesOf(each).map((id) => ({ each, id }))),
    ({ id }) => id,
  )
  const meant = twinsIn(all, places).flatMap(({ older, younger }) =>
    (referring.get(younger.task.id) ?? [])
      .filter(({ each }) => isMeant(each, younger, older, places))
      .map(({ each }) => referenceKey(each, younger)),
  )
  return new Set(meant)
}

function referenceKey(reference: Placed, younger: Placed): string {
  return `${reference.path}\0${younger.path}\0${younger.task.id}`
}

function referencesOf({ task }: Placed): string[] {
  return [...new Set([...task.dependencies, ...(task.parent === undefined ? [] : [task.parent])])]
}

/** Texts that change several times before they are written. */
class Texts {
  readonly #changed = new Map<string, string>()

  change(path: string, apply: (text: string) => string): void {
    this.#changed.set(path, apply(this.#changed.get(path) ?? readTaskText(path)))
  }

  write(draft: Draft): void {
    for (const [path, text] of this.#changed) draft.write(path, text)
  }
}

/** A copy of the same task in the archive is no twin. */
function twinsIn(all: readonly Placed[], places: Places): Pair[] {
  const copied = new Set(copiesIn(all, places).map(({ archived }) => archived))
  const tasks = all.filter((each) => !copied.has(each))
  return [...Map.groupBy(tasks, ({ task }) => task.id).values()].flatMap((group) => {
    const [older, ...others] = group.toSorted((a, b) => byAge(a.task, b.task))
    return others.map((younger) => ({ older: older!, younger }))
  })
}

function findingOf({ older, younger }: Pair, places: Places): Finding {
  const problem = `its id ${older.task.id} is also that of "${nameOf(older, places)}"`
  return { file: nameOf(younger, places), problem }
}

/** Gives ids that nobody has or had, archived and broken files included. */
function makeNumbers(
  draft: Draft,
  places: Places,
  all: readonly Placed[],
): (prefix: string) => TaskId | undefined {
  const highest = new Map(Object.entries(draft.state.numbers))
  const names = [...listFiles(places.tasks), ...listFiles(places.archive)]
  const ids = [...names.map(idOfFileName), ...all.map(({ task }) => readId(task.id))]
  for (const id of ids) {
    if (id === undefined) continue
    highest.set(id.prefix, Math.max(highest.get(id.prefix) ?? 0, id.number))
  }
  return (prefix) => {
    const number = (highest.get(prefix) ?? 0) + 1
    if (number > HIGHEST_NUMBER) return undefined
    highest.set(prefix, number)
    const { state } = draft
    draft.state = { ...state, numbers: { ...state.numbers, [prefix]: number } }
    return { prefix, number }
  }
}

function renameReference(
  { task, path }: Placed,
  from: string,
  id: TaskId,
  texts: Texts,
  now: Date,
): Finding {
  const to = renderId(id)
  const changes = {
    ...(task.dependencies.includes(from)
      ? { removeDependencies: [from], addDependencies: [to] }
      : {}),
    ...(task.parent === from ? { parent: to } : {}),
  }
  texts.change(path, (text) => applyChanges(text, changes, now))
  return { file: task.file, problem: `refers to ${from}, which is ${to} now`, mended: 'it says so' }
}
