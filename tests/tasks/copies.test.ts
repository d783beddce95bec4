import { describe, expect, test } from 'bun:test'
import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const AT = 'createdAt: 2026-01-01T00:00:00.000Z'
const TASK = taskText(['id: TASK-001', 'title: A', AT])

function filesOf(project: TaskProject): Record<string, string> {
  const inside = (folder: string) =>
    readdirSync(join(project.folder, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name))
  const names = [...inside('.'), ...inside('archive')].toSorted()
  return Object.fromEntries(names.map((name) => [name, project.bytes(name).toString()]))
}

describe('a task that is both open and archived', () => {
  test.each(['TASK-001 - A.md', 'TASK-001 - 0.md', 'TASK-001 - Z.md'])(
    'twice the same: the copy in the archive is removed (%s)',
    async (name) => {
      const project = new TaskProject({ 'TASK-001 - A.md': TASK, [`archive/${name}`]: TASK })
      const problem = `archive/${name}: is identical to the open task "TASK-001 - A.md"`
      const found = await project.run(['doctor', '--plain'])
      expect(found).toEqual({ code: 1, stdout: `${problem}\n`, stderr: '' })
      expect(await project.must('doctor', '--fix', '--plain')).toBe(
        `${problem} -> removed the copy in the archive\n`,
      )
      expect(filesOf(project)).toEqual({ 'TASK-001 - A.md': TASK })
      expect(await project.must('doctor', '--plain')).toBe('')
    },
  )

  test.each([
    ['another status', TASK.replace('title: A', 'title: A\nstatus: Done')],
    ['another title', TASK.replace('title: A', 'title: B')],
    ['a note', `${TASK}## Notes\n\nWhy\n`],
  ])('with %s is left to a person, and counts as one task', async (_, other) => {
    const files = { 'TASK-001 - A.md': TASK, 'archive/TASK-001 - A.md': other }
    const project = new TaskProject(files)
    const problem =
      'archive/TASK-001 - A.md: is the same task as the open "TASK-001 - A.md", but the content differs: compare the two and delete one'
    for (const args of [
      ['doctor', '--plain'],
      ['doctor', '--fix', '--plain'],
    ]) {
      expect(await project.run(args)).toEqual({ code: 1, stdout: `${problem}\n`, stderr: '' })
    }
    expect(filesOf(project)).toEqual({
      'TASK-001 - A.md': TASK,
      'archive/TASK-001 - A.md': other,
    })
  })

  test('is recognised by its title if it has no creation time', async () => {
    const old = taskText(['id: TASK-001', 'title: A'])
    const project = new TaskProject({ 'TASK-001 - A.md': old, 'archive/TASK-001 - A.md': old })
    await project.must('doctor', '--fix')
    expect(filesOf(project)).toEqual({ 'TASK-001 - A.md': old })
  })

  test('is not removed if the open file is a link to it', async () => {
    const project = new TaskProject({ 'archive/TASK-001 - A.md': TASK })
    symlinkSync('archive/TASK-001 - A.md', join(project.folder, 'TASK-001 - A.md'))
    expect((await project.run(['doctor', '--fix'])).code).toBe(1)
    expect(Object.values(filesOf(project))).toEqual([TASK, TASK])
  })

  test('is a different task if the creation times differ: the younger one is renumbered', async () => {
    const other = TASK.replace('2026', '2027').replace('title: A', 'title: B')
    const project = new TaskProject({ 'TASK-001 - A.md': TASK, 'archive/TASK-001 - B.md': other })
    await project.run(['doctor', '--fix'])
    expect(Object.keys(filesOf(project))).toEqual(['TASK-001 - A.md', 'archive/TASK-002 - B.md'])
  })

  test('does not hide another task with the same id', async () => {
    const other = TASK.replace('2026', '2027').replace('title: A', 'title: B')
    const project = new TaskProject({
      'TASK-001 - A.md': TASK,
      'TASK-001 - B.md': other,
      'archive/TASK-001 - A.md': TASK,
    })
    await project.must('doctor', '--fix')
    expect(Object.keys(filesOf(project))).toEqual(['TASK-001 - A.md', 'TASK-002 - B.md'])
  })
})

test('list and doctor choose the same one of two equally old tasks with one id', async () => {
  const high = TASK.replace('title: A', 'title: Z\npriority: high')
  const project = new TaskProject({ 'TASK-001 - A.md': TASK, 'TASK-001 - Z.md': high })
  expect(await project.run(['list', '--plain'])).toEqual({
    code: 0,
    stdout: 'TASK-001 | To Do | - | A\n',
    stderr:
      'forge-tasks: TASK-001 - Z.md:1: has the same id TASK-001 as "TASK-001 - A.md"; run: forge-tasks doctor --fix\n',
  })
  await project.must('doctor', '--fix')
  expect(project.names()).toEqual(['TASK-001 - A.md', 'TASK-002 - Z.md'])
})
