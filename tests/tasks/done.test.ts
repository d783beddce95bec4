import { describe, expect, test } from 'bun:test'
import { TaskDatabase } from '../../src/tasks/database.ts'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const CHAIN = {
  'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A']),
  'TASK-002 - B.md': taskText(['id: TASK-002', 'title: B', 'status: Blocked']),
  'TASK-003 - C.md': taskText(['id: TASK-003', 'title: C', 'dependencies: [TASK-001, TASK-002]']),
}
const REFUSED = `TASK-003 depends on tasks that are not done:
  TASK-001 (To Do)
  TASK-002 (Blocked)`

describe('a task that waits for others is not done', () => {
  test('by the command line, which lists them', async () => {
    const project = new TaskProject(CHAIN)
    const { code, stderr } = await project.run(['edit', '3', '--status', 'done'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `forge-tasks: ${REFUSED.replaceAll('\n', '\n  ')}
  Finish them first, remove them with --remove-dep ID, or override with --force.
`,
    })
    expect(project.read('TASK-003 - C.md')).toBe(CHAIN['TASK-003 - C.md'])
  })

  test('by the library', () => {
    const project = new TaskProject(CHAIN)
    const database = new TaskDatabase({ cwd: project.root, as: 'me' })
    expect(() => database.edit('3', { status: 'Done' })).toThrow('not done')
    expect(database.edit('3', { status: 'Done' }, { force: true }).status).toBe('Done')
  })

  test('unless it is forced, which is noted', async () => {
    const project = new TaskProject(CHAIN)
    await project.must('edit', '3', '--status', 'done', '--force')
    expect(project.read('TASK-003 - C.md')).toContain(
      'Marked done with open dependencies: TASK-001 (To Do), TASK-002 (Blocked)',
    )
  })

  test('unless all of them become done, or are removed, in the same call', async () => {
    const project = new TaskProject(CHAIN)
    await project.must('edit', '3', '1', '--status', 'done', '--remove-dep', '2')
    expect(await project.must('list', '-s', 'done', '--plain')).toBe(
      'TASK-001 | Done | - | A\nTASK-003 | Done | - | C\n',
    )
  })

  test('with open criteria as well, and both are listed', async () => {
    const body = '## Acceptance Criteria\n\n- [ ] #1 It works\n'
    const project = new TaskProject({
      'TASK-001 - A.md': CHAIN['TASK-001 - A.md'],
      'TASK-004 - D.md': taskText(['id: TASK-004', 'dependencies: [TASK-001, TASK-009]'], body),
    })
    const { stderr } = await project.run(['edit', '4', '--status', 'done'])
    expect(stderr).toBe(`forge-tasks: TASK-004 has open acceptance criteria:
    #1 It works
  It depends on tasks that are not done:
    TASK-001 (To Do)
    TASK-009 (missing)
  Check off criteria with --check-ac N, finish or remove (--remove-dep ID) dependencies, or override with --force.
`)
  })

  test('unless its dependency is archived and done', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': taskText(['id: TASK-001', 'status: Done']),
      'TASK-003 - C.md': taskText(['id: TASK-003', 'dependencies: [TASK-001]']),
    })
    await project.must('edit', '3', '--status', 'done')
  })

  test('nor can it be created as done', async () => {
    const project = new TaskProject(CHAIN)
    const { code, stderr } = await project.run(['create', 'D', '--depends-on', '1', '-s', 'done'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'A task that depends on TASK-001 (To Do) cannot be created as Done: D\n',
    )
    const missing = await project.run(['create', 'D', '--depends-on', '9', '-s', 'done'])
    expect(missing.stderr).toStartWith('forge-tasks: No task TASK-009.\n')
    expect(missing.stderr).not.toContain('created as Done')
    const stdin = [
      { key: 'a', title: 'E', status: 'done' },
      { title: 'F', status: 'done', dependsOn: ['@a'] },
    ]
    const batch = stdin.map((task) => JSON.stringify(task)).join('\n')
    expect((await project.run(['create', '--batch'], { stdin: batch })).code).toBe(0)
  })
})
