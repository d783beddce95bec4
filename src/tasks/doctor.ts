import { readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { UNFINISHED } from '../base/atomic-write.ts'
import { statOf } from '../base/files.ts'
import { idOfFileName, makeFileName } from './file-name.ts'
import { setField } from './frontmatter.ts'
import { readId, renderId } from './id.ts'
import type { Places } from './places.ts'
import { Graph } from './ready.ts'
import { listFiles, readTaskFile, scanTasks } from './scan.ts'
import { change, writeTask } from './state.ts'
import type { Task } from './task.ts'

export interface Finding {
  readonly file: string
  readonly problem: string
  /** What was done about it; absent where a person has to. */
  readonly mended?: string
}

/** Everything that is wrong with the database; with `fix`, what can be mended is. */
export function examine(places: Places, fix: boolean): Finding[] {
  if (!fix) return findings(places)
  return change(places, (state, save) => {
    const mended = [
      ...mendTwins(places, state.numbers, (numbers) => save({ ...state, numbers })),
      ...mendNames(places),
      ...mendUnfinished(places),
      ...mendDangling(places),
    ]
    const seen = new Set(mended.map(({ file, problem }) => `${file}${problem}`))
    return [
      ...mended,
      ...findings(places).filter(({ file, problem }) => !seen.has(`${file}${problem}`)),
    ]
  })
}

function findings(places: Places): Finding[] {
  const { tasks, broken } = scanTasks(places)
  return [
    ...broken.map(({ file, line, problem }) => ({ file: `${file}:${line}`, problem })),
    ...tasks
      .filter(isMisnamed)
      .map(({ file, id }) => ({ file, problem: `its name does not begin with its id ${id}` })),
    ...danglingOf(places, tasks).map(({ task, id }) => ({
      file: task.file,
      problem: `depends on ${id}, which does not exist`,
    })),
    ...cyclesOf(places, tasks).map(({ task, cycle }) => ({
      file: task.file,
      problem: `waits for itself: ${cycle.join(' -> ')}`,
    })),
    ...unfinishedIn(places).map((file) => ({
      file,
      problem: 'is left over from a write that never ended',
    })),
  ]
}

/** Of two tasks with one id the younger one gets a new one; who of the two is meant elsewhere is unknown. */
function mendTwins(
  places: Places,
  numbers: Readonly<Record<string, number>>,
  save: (numbers: Record<string, number>) => void,
): Finding[] {
  const byId = Map.groupBy(allTasks(places), (task) => task.id)
  const next = { ...numbers }
  const mended: Finding[] = []
  for (const [id, tasks] of byId) {
    const [, ...younger] = tasks.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
    for (const task of younger) {
      const { prefix } = readId(id)!
      const number = Math.max(next[prefix] ?? 0, highestNumber(places, prefix)) + 1
      next[prefix] = number
      const path = join(places.tasks, task.file)
      const text = setField(readFileSync(path, 'utf8'), 'id', renderId({ prefix, number }))
      writeTask(places, path, text)
      renameSync(path, join(places.tasks, makeFileName({ prefix, number }, task.title)))
      mended.push({
        file: task.file,
        problem: `its id ${id} was also that of another task`,
        mended: `it is ${renderId({ prefix, number })} now`,
      })
    }
  }
  save(next)
  return mended
}

function highestNumber(places: Places, prefix: string): number {
  const names = [...listFiles(places.tasks), ...listFiles(places.archive)]
  const ids = names.flatMap((name) => idOfFileName(name) ?? [])
  return Math.max(0, ...ids.filter((id) => id.prefix === prefix).map((id) => id.number))
}

function mendNames(places: Places): Finding[] {
  return scanTasks(places)
    .tasks.filter(isMisnamed)
    .flatMap((task) => {
      const name = makeFileName(readId(task.id)!, task.title)
      if (statOf(join(places.tasks, name)) !== undefined) return []
      renameSync(join(places.tasks, task.file), join(places.tasks, name))
      return {
        file: task.file,
        problem: `its name does not begin with its id ${task.id}`,
        mended: `it is called "${name}" now`,
      }
    })
}

function mendUnfinished(places: Places): Finding[] {
  return unfinishedIn(places).map((file) => {
    rmSync(join(places.tasks, file), { force: true })
    return { file, problem: 'is left over from a write that never ended', mended: 'deleted' }
  })
}

function mendDangling(places: Places): Finding[] {
  const byTask = Map.groupBy(danglingOf(places, scanTasks(places).tasks), ({ task }) => task)
  return [...byTask].flatMap(([task, missing]) => {
    const gone = missing.map(({ id }) => id)
    const path = join(places.tasks, task.file)
    const rest = task.dependencies.filter((id) => !gone.includes(id))
    writeTask(places, path, setField(readFileSync(path, 'utf8'), 'dependencies', rest))
    const mended = 'the dependency is removed'
    return gone.map((id) => ({
      file: task.file,
      problem: `depends on ${id}, which does not exist`,
      mended,
    }))
  })
}

function allTasks(places: Places): Task[] {
  return listFiles(places.tasks).flatMap((file) => {
    const task = readTaskFile(join(places.tasks, file), file)
    return 'problem' in task ? [] : [task]
  })
}

function isMisnamed({ file, id }: Task): boolean {
  return !new RegExp(
    `^${id.replace('-', '-0*').replace(/0*(\d+)$/, '$1')}(?: - .*)?\\.md$`,
    'i',
  ).test(file)
}

function danglingOf(places: Places, tasks: readonly Task[]): { task: Task; id: string }[] {
  const graph = new Graph(places, tasks, new Map())
  return tasks.flatMap((task) =>
    task.dependencies.filter((id) => !graph.has(id)).map((id) => ({ task, id })),
  )
}

function cyclesOf(places: Places, tasks: readonly Task[]): { task: Task; cycle: string[] }[] {
  const graph = new Graph(places, tasks, new Map())
  return tasks.flatMap((task) => {
    const cycle = graph.cycleThrough(task.id, task.dependencies)
    return cycle === undefined ? [] : [{ task, cycle }]
  })
}

function unfinishedIn(places: Places): string[] {
  try {
    return readdirSync(places.tasks).filter((name) => name.startsWith(UNFINISHED))
  } catch {
    return []
  }
}
