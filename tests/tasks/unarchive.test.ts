import { describe, expect, test } from 'bun:test'
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const OPEN = taskText(['id: TASK-001', 'title: Login', 'status: To Do'])
const DONE = taskText(['id: TASK-002', 'title: Logout', 'status: Done'])
const WAITS = taskText(['id: TASK-003', 'title: Manual', 'dependencies: [TASK-001]'])

describe('unarchive', () => {
  test('moves tasks back unchanged', async () => {
    const project = new TaskProject({ 'TASK-002 - Logout.md': DONE })
    await project.must('archive', '--done')
    expect(await project.must('list', '--plain')).toBe('')
    expect(await project.must('unarchive', '2')).toBe('Unarchived TASK-002\n')
    expect(await project.must('list', '--plain')).toBe('TASK-002 | Done | - | Logout\n')
    expect(project.read('TASK-002 - Logout.md')).toBe(DONE)
    await project.must('edit', '2', '--status', 'todo')
    expect(await project.must('list', '--ready', '--plain')).toBe('TASK-002 | To Do | - | Logout\n')
  })

  test('changes all or nothing', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - Login.md': OPEN,
      'archive/TASK-002 - Logout.md': DONE,
      'TASK-002 - Logout.md': taskText(['id: TASK-009', 'title: In the way']),
    })
    const { code, stderr } = await project.run(['unarchive', '1', '2'])
    expect(code).toBe(1)
    expect(stderr).toContain('TASK-002 - Logout.md"')
    expect(existsSync(join(project.folder, 'archive/TASK-001 - Login.md'))).toBe(true)
  })

  test.each([
    [['unarchive', '3'], 1, 'forge-tasks: TASK-003 is not archived.\n'],
    [['unarchive', '9'], 1, 'No task TASK-009.'],
    [['unarchive'], 2, 'The id is missing.'],
  ])('refuses %p', async (args, code, words) => {
    const project = new TaskProject({ 'TASK-003 - Manual.md': WAITS })
    const refused = await project.run(args)
    expect(refused.code).toBe(code)
    expect(refused.stderr).toContain(words)
  })

  test('has --plain and --json', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - Login.md': OPEN,
      'archive/TASK-002 - Logout.md': DONE,
    })
    expect(await project.must('unarchive', '1', '--plain')).toBe('TASK-001\n')
    expect(await project.must('unarchive', '2', '--json')).toBe('{"ids":["TASK-002"]}\n')
  })
})

describe('list --archived', () => {
  test('shows what is in the archive, with the filters of a list', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - Login.md': OPEN,
      'archive/TASK-002 - Logout.md': DONE,
      'TASK-003 - Manual.md': WAITS,
    })
    expect(await project.must('list', '--archived', '--plain')).toBe(
      'TASK-001 | To Do | - | Login\nTASK-002 | Done | - | Logout\n',
    )
    expect(await project.must('list', '--archived', '-s', 'done', '--plain')).toBe(
      'TASK-002 | Done | - | Logout\n',
    )
    const { tasks } = JSON.parse(await project.must('list', '--archived', '--limit', '1', '--json'))
    expect(tasks).toMatchObject([{ id: 'TASK-001', file: 'archive/TASK-001 - Login.md' }])
    expect(await project.run(['list', '--archived', '--ready'])).toMatchObject({ code: 2 })
  })
})

describe('an archived task', () => {
  test('cannot be reopened by edit, and the error says how to do it', async () => {
    const project = new TaskProject({ 'archive/TASK-002 - Logout.md': DONE })
    const { code, stderr } = await project.run(['edit', '2', '--status', 'todo'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'forge-tasks: TASK-002 is archived.\n  Unarchive it first: forge-tasks unarchive TASK-002\n',
    })
    expect(project.read('archive/TASK-002 - Logout.md')).toBe(DONE)
    await project.must('edit', '2', '--append-notes', 'It was port 80.')
    expect((await project.run(['claim', '2'])).stderr).toContain('forge-tasks unarchive TASK-002')
  })

  test('that is not done is reported, unless it was archived on purpose', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - Login.md': OPEN,
      'TASK-003 - Manual.md': WAITS,
    })
    const { code, stdout } = await project.run(['doctor', '--plain'])
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout:
        'archive/TASK-001 - Login.md: is archived but To Do, so no agent will start it; run: forge-tasks unarchive TASK-001\n',
    })
    expect((await project.run(['next'])).stderr).toContain('run "forge-tasks unarchive TASK-001"')
    await project.must('unarchive', '1')
    await project.must('archive', '1', '--force')
    expect(project.read('archive/TASK-001 - Login.md')).toContain('Archived while To Do.')
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })
})

describe('archiving a relative link', () => {
  test('and unarchiving it keeps its target', async () => {
    const project = new TaskProject({ 'logout.txt': DONE })
    symlinkSync('logout.txt', join(project.folder, 'TASK-002 - Logout.md'))
    await project.must('archive', '2')
    const archived = join(project.folder, 'archive/TASK-002 - Logout.md')
    expect(lstatSync(archived).isSymbolicLink()).toBe(true)
    expect(readFileSync(archived, 'utf8')).toBe(DONE)
    expect(
      lstatSync(join(project.folder, 'TASK-002 - Logout.md'), { throwIfNoEntry: false }),
    ).toBeUndefined()
    await project.must('unarchive', '2')
    expect(project.read('TASK-002 - Logout.md')).toBe(DONE)
    expect(existsSync(archived)).toBe(false)
  })
})
