import { describe, expect, test } from 'bun:test'
import { chmodSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { processIdentity } from '../base/linux/process-identity.ts'
import { makeProject, writeFiles } from '../../tests/support/project.ts'
import { TaskDatabase } from '../tasks/database.ts'
import { makeTaskPort } from './task-port.ts'

const RUN = 'the-run'

/** Two tasks, as iteration 2 of step 1 of a run sees them, and the port of that run. */
function makeTasks() {
  const root = makeProject()
  const tasks = inIteration(root, 2)
  tasks.createAll([{ title: 'First', criteria: ['It works', 'It is fast'] }, { title: 'Second' }])
  return { root, tasks, port: makeTaskPort(root, RUN, {}) }
}

function inIteration(cwd: string, iteration: number): TaskDatabase {
  const env = {
    FORKHESTRA_RUN_ID: RUN,
    FORKHESTRA_STEP: '1',
    FORKHESTRA_ITERATION: String(iteration),
    FORKHESTRA_AGENT: 'builder',
    FORKHESTRA_RUN_PROCESS: processIdentity(process.pid)!,
  }
  return new TaskDatabase({ cwd, env })
}

type Made = ReturnType<typeof makeTasks>

function pathOf({ tasks }: Made, id: string): string {
  const name = readdirSync(tasks.folder).find((each) => each.startsWith(id))!
  return join(tasks.folder, name)
}

describe('the fingerprint of the tasks', () => {
  test('is empty without tasks', async () => {
    const root = makeProject({ 'forge/chains.json': '{}' })
    const port = makeTaskPort(root, RUN, {})
    expect(await port.fingerprint()).toBe('')
    inIteration(root, 1).create({ title: 'First' })
    expect(await port.fingerprint()).not.toBe('')
  })

  test.each<[string, (made: Made) => unknown]>([
    ['a task is added', ({ tasks }) => tasks.create({ title: 'Third' })],
    ['a task is done', ({ tasks }) => tasks.edit('2', { status: 'Done' })],
    ['a task is blocked', ({ tasks }) => tasks.edit('1', { status: 'Blocked' })],
    ['a criterion is ticked', ({ tasks }) => tasks.edit('1', { checkCriteria: [2] })],
    ['another criterion is ticked', ({ tasks }) => tasks.edit('1', { checkCriteria: [1] })],
    ['a title is changed', ({ tasks }) => tasks.edit('2', { title: 'Other' })],
    ['notes are taken', ({ tasks }) => tasks.edit('2', { appendNotes: ['Half of it is done'] })],
    ['a task has to wait', ({ tasks }) => tasks.edit('2', { addDependencies: ['1'] })],
    ['a task is deleted', ({ tasks }) => tasks.delete('2')],
    ['a file is broken', (made) => writeFileSync(pathOf(made, 'TASK-002'), 'junk')],
    ['the folder is taken away', ({ tasks }) => rmSync(tasks.folder, { recursive: true })],
  ])('changes when %s', async (_, act) => {
    const made = makeTasks()
    const before = await made.port.fingerprint()
    await act(made)
    const after = await made.port.fingerprint()
    expect(after).not.toBe(before)
    expect(await makeTaskPort(made.root, RUN, {}).fingerprint()).toBe(after)
  })

  test.each<[string, (made: Made) => unknown]>([
    ['nothing happens', () => undefined],
    ['a task is taken', ({ tasks }) => tasks.claimNext()],
    ['a task is taken and given back', ({ tasks }) => (tasks.claimNext(), tasks.release('1'))],
    ['a file is touched', (made) => utimesSync(pathOf(made, 'TASK-001'), new Date(), 1e9)],
    [
      'an iteration ends that did not finish its task',
      async ({ tasks, port }) => {
        tasks.claimNext()
        await port.endIteration('1', 2, 'exited')
      },
    ],
    [
      'a second one does so too',
      async ({ root, port }) => {
        for (const iteration of [2, 3]) {
          inIteration(root, iteration).claimNext()
          await port.endIteration('1', iteration, 'timed_out')
        }
      },
    ],
  ])('stays the same when %s', async (_, act) => {
    const made = makeTasks()
    const before = await made.port.fingerprint()
    await act(made)
    expect(await made.port.fingerprint()).toBe(before)
  })

  test('does not depend on file names', async () => {
    const made = makeTasks()
    const path = pathOf(made, 'TASK-001')
    const before = await made.port.fingerprint()
    writeFiles(made.tasks.folder, { 'zzz.md': readFileSync(path, 'utf8') })
    rmSync(path)
    expect(await made.port.fingerprint()).toBe(before)
  })

  test('is empty for an unreadable folder', async () => {
    const { tasks, port } = makeTasks()
    chmodSync(tasks.folder, 0)
    try {
      // The superuser may read everything.
      expect((await port.fingerprint()) === '').toBe(process.getuid?.() !== 0)
    } finally {
      chmodSync(tasks.folder, 0o755)
    }
  })
})

describe('the end of an iteration', () => {
  test('returns the tasks of the iteration and releases them', async () => {
    const { root, tasks, port } = makeTasks()
    tasks.claimNext()
    inIteration(root, 3).claimNext()
    expect(await port.endIteration('1', 2, 'exited')).toEqual(['TASK-001'])
    expect(await port.count()).toMatchObject({ held: 1 })
    expect(await port.endIteration('1', 3, 'exited')).toEqual(['TASK-002'])
    expect(await port.count()).toMatchObject({ held: 0 })
  })

  test('returns nothing without tasks', async () => {
    expect(await makeTaskPort(makeProject(), RUN, {}).endIteration('1', 1, 'exited')).toEqual([])
  })
})
