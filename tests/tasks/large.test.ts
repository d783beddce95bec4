import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { TaskDatabase } from '../../src/tasks/database.ts'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const MIB = 1024 * 1024
const SMALL = taskText(['id: TASK-001', 'title: A'], '## Description\n\nShort.\n')
const LONG = 'A line of a log that somebody has pasted.\n'.repeat(Math.ceil((17 * MIB) / 42))

describe('a text that would make a task longer than 16 MiB', () => {
  test.each([
    ['edit', ['edit', '1', '--append-notes', '-'], LONG],
    ['create', ['create', 'B', '-d', '-'], LONG],
    ['a batch', ['create', '--batch'], JSON.stringify({ title: 'B', plan: LONG })],
  ])('is refused before anything is written: %s', async (_, args, stdin) => {
    const project = new TaskProject({ 'TASK-001 - A.md': SMALL })
    const { code, stderr } = await project.run(args, { stdin })
    expect(code).toBe(1)
    expect(stderr).toContain('would be 17 MiB; the limit is 16 MiB')
    expect(project.names()).toEqual(['TASK-001 - A.md'])
    expect(project.read('TASK-001 - A.md')).toBe(SMALL)
  })

  test('is also refused by the library, in small steps', () => {
    const project = new TaskProject({ 'TASK-001 - A.md': SMALL })
    const database = new TaskDatabase({ cwd: project.root, as: 'me' })
    const half = LONG.slice(0, 9 * MIB)
    database.edit('1', { appendNotes: [half] })
    expect(() => database.edit('1', { appendNotes: [half] })).toThrow('the limit is 16 MiB')
    expect(database.view('1').notes.length).toBeLessThan(10 * MIB)
  })
})

describe('a task file that is longer than 16 MiB', () => {
  test('is repaired by the doctor, and no text is lost', async () => {
    const body = `## Description\n\nShort.\n\n## Implementation Notes\n\nFirst.\n\n${LONG}\nLast.\n`
    const text = taskText(['id: TASK-001', 'title: A'], body)
    const project = new TaskProject({ 'TASK-001 - A.md': text })
    const found = await project.run(['doctor', '--plain'])
    expect(found.code).toBe(1)
    expect(found.stdout).toContain('run: forge-tasks doctor --fix')
    expect(await project.must('doctor', '--fix', '--plain')).toBe(
      'TASK-001 - A.md:1: it is 17 MiB, over the limit of 16 MiB -> cut long sections; the full text is in "TASK-001 - A.full.txt"\n',
    )
    expect(project.read('TASK-001 - A.full.txt')).toBe(text)
    expect(statSync(join(project.folder, 'TASK-001 - A.md')).size).toBeLessThan(MIB)
    const view = await project.must('view', '1')
    expect(view).toContain('Short.')
    expect(view).toContain('First.')
    expect(view).toContain('The full text is in "TASK-001 - A.full.txt".')
    await project.must('edit', '1', '--append-notes', 'Goes on.')
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })

  test('is left alone if it is unclear what to cut', async () => {
    const text = taskText(['id: TASK-001', `title: ${'x'.repeat(17 * MIB)}`])
    const project = new TaskProject({ 'TASK-001 - A.md': text })
    expect((await project.run(['doctor', '--fix'])).code).toBe(1)
    expect(project.read('TASK-001 - A.md')).toBe(text)
  })
})

test.each([
  ['on one line', (ids: string[]) => `dependencies: [${ids.join(', ')}]`],
  [
    'on a line each',
    (ids: string[]) => `dependencies:\n${ids.map((id) => `  - ${id}`).join('\n')}`,
  ],
])('twenty thousand missing dependencies %s are removed at once', async (_, write) => {
  const ids = Array.from({ length: 20_000 }, (__, index) => `TASK-${index + 2}`)
  const text = taskText(['id: TASK-001', 'title: A', 'status: To Do', write(ids)])
  const project = new TaskProject({ 'TASK-001 - A.md': text })
  const { code, stdout } = await project.run(['doctor', '--fix'])
  expect(code).toBe(0)
  expect(stdout).toContain('depends on TASK-20001, which does not exist')
  expect(project.read('TASK-001 - A.md')).toContain('dependencies: []\n')
  expect(project.read('TASK-001 - A.md')).toContain('Removed the reference to TASK-20001')
})
