import { beforeEach, describe, expect, test } from 'bun:test'
import {
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { Graph } from '../ready.ts'
import { taskFoldersIn, type TaskFolders } from '../folders.ts'
import { scanTasks } from './scan.ts'

function taskFile(number: number, status: string, dependencies: readonly number[] = []): string {
  const ids = dependencies.map((each) => `T-${each}`).join(', ')
  return `---\nid: T-${number}\ntitle: Task ${number}\nstatus: ${status}\ndependencies: [${ids}]\n---\n`
}

const nameOf = (number: number) => `T-${number} - Täsk ${number}.md`
const statusOf = (number: number) => (number % 3 === 0 ? 'Done' : 'To Do')
const dependenciesOf = (number: number) => [number - 1, number - 2].filter((each) => each > 0)

function makeFolders(count: number): TaskFolders {
  const files: Record<string, string> = {}
  for (let number = 1; number <= count; number++) {
    const text = taskFile(number, statusOf(number), dependenciesOf(number))
    files[`forge/tasks/${nameOf(number)}`] = text
  }
  const folders = taskFoldersIn(makeProject({ ...files, '.git/HEAD': '' }))
  // Files as young as the index are read again.
  const before = new Date(Date.now() - 60_000)
  for (let number = 1; number <= count; number++) {
    utimesSync(join(folders.tasks, nameOf(number)), before, before)
  }
  return folders
}

const titlesOf = (folders: TaskFolders) => scanTasks(folders).tasks.map(({ title }) => title)

describe('a folder of tasks with an index', () => {
  const count = 20
  let folders: TaskFolders
  const path = (number: number) => join(folders.tasks, nameOf(number))

  beforeEach(() => {
    folders = makeFolders(count)
    scanTasks(folders)
  })

  test('reads the same tasks from the index as from the files', () => {
    const scan = scanTasks(folders)
    rmSync(join(folders.own, 'index'))
    expect(scan).toEqual(scanTasks(folders))
    expect(scan.tasks).toHaveLength(count)
    expect(scan.broken).toEqual([])
  })

  test('is read again if one bit of the index is wrong', () => {
    const index = join(folders.own, 'index')
    const [before, whole] = [scanTasks(folders), readFileSync(index)]
    for (let bit = 0; bit < whole.length * 8; bit += 137) {
      const flipped = Buffer.from(whole)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      writeFileSync(index, flipped)
      expect(scanTasks(folders)).toEqual(before)
    }
    writeFileSync(index, whole.subarray(0, 20))
    expect(scanTasks(folders)).toEqual(before)
    expect(statSync(index).size).toBeGreaterThan(whole.length / 2)
  })

  test('has the tasks ready that are judged ready', () => {
    const scan = scanTasks(folders)
    const graph = new Graph(folders, scan, new Map())
    const judged = scan.tasks.filter((task) => graph.judge(task).isReady)
    expect(new Set(graph.ready())).toEqual(new Set(judged))
    expect(graph.waitingFor('T-005').map(({ id }) => id)).toEqual(['T-006', 'T-007'])
  })

  test('shows a file that was written in place', () => {
    writeFileSync(path(4), taskFile(4, 'Blocked'))
    const task = scanTasks(folders).tasks.find(({ id }) => id === 'T-004')
    expect(task?.status).toBe('Blocked')
  })

  test('shows a file that replaced one of the same age and size', () => {
    const aside = join(folders.root, 'aside')
    const { mtime, size } = statSync(path(5))
    writeFileSync(aside, taskFile(5, 'Done ', [4, 3]))
    utimesSync(aside, mtime, mtime)
    expect(statSync(aside).size).toBe(size)
    renameSync(aside, path(5))
    expect(scanTasks(folders).tasks.find(({ id }) => id === 'T-005')?.status).toBe('Done')
  })

  test('shows files that are new, renamed, linked or deleted', () => {
    writeFileSync(join(folders.tasks, 'T-9001 - New.md'), taskFile(9001, 'To Do'))
    renameSync(path(7), join(folders.tasks, 'renamed.md'))
    writeFileSync(join(folders.root, 'elsewhere.md'), taskFile(9002, 'To Do'))
    symlinkSync('../../elsewhere.md', join(folders.tasks, 'T-9002 - Link.md'))
    rmSync(path(8))
    writeFileSync(join(folders.tasks, 'README.md'), 'no task')
    writeFileSync(join(folders.tasks, '.hidden.md'), taskFile(9003, 'To Do'))
    const titles = titlesOf(folders)
    expect(titles).toHaveLength(count + 1)
    expect(titles).toContain('Task 9001')
    expect(titles).toContain('Task 9002')
    expect(titles).toContain('Task 7')
    expect(titles).not.toContain('Task 8')
  })
})
