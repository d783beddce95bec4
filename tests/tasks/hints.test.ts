import { describe, expect, test } from 'bun:test'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ON_READ_ONLY_DISK,
  TaskProject,
  taskText,
  WITHOUT_PRIVILEGES,
} from '../support/forge-tasks.ts'

describe('a refused edit of several tasks names the task', () => {
  test('that lacks the criterion', async () => {
    const project = new TaskProject()
    await project.must('create', 'One', '--ac', 'x')
    await project.must('create', 'Two')
    const before = project.read('TASK-001 - One.md')
    expect(await project.run(['edit', '1', '2', '--check-ac', '1'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'forge-tasks: TASK-002: No acceptance criterion #1.\n  The task has no criteria.\n',
    })
    expect(project.read('TASK-001 - One.md')).toBe(before)
  })

  test('whose frontmatter cannot be changed', async () => {
    const odd = taskText(['id: TASK-002', 'title: B', 'labels: &l {a: 1}'])
    const project = new TaskProject({ 'TASK-002 - B.md': odd })
    await project.must('create', 'One')
    const { code, stderr } = await project.run(['edit', '3', '2', '--label', 'x'])
    expect(code).toBe(1)
    expect(stderr).toStartWith("forge-tasks: TASK-002: Cannot change 'labels' without")
  })
})

describe('errors say what to do', () => {
  test('if a folder cannot be read', async () => {
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001']) })
    chmodSync(project.folder, 0)
    const { code, stderr } = await project.run(['list'], { program: WITHOUT_PRIVILEGES })
    chmodSync(project.folder, 0o755)
    expect(code).toBe(1)
    expect(stderr).toEndWith(
      '\n  Give this user read permission: chmod u+rx "<root>/forge/tasks"\n',
    )
  })

  test('if a folder cannot be written', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    chmodSync(project.folder, 0o555)
    const { code, stderr } = await project.run(['edit', '1', '-a', 'x'], {
      program: WITHOUT_PRIVILEGES,
    })
    chmodSync(project.folder, 0o755)
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /\n {2}(Nothing was|Some files were) changed\. Give this user write permission/,
    )
    expect(stderr).not.toContain('Free disk space')
  })

  test('if a disk is read-only', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    const { stderr } = await project.run(['create', 'Two'], { program: ON_READ_ONLY_DISK })
    expect(stderr).toEndWith('\n  Nothing was changed. Make the disk writable, then retry.\n')
  })

  test('if the correct file name already exists', async () => {
    const project = new TaskProject({ 'wrong.md': taskText(['id: TASK-001', 'title: A']) })
    writeFileSync(join(project.folder, 'TASK-001 - A.md'), 'no task')
    const problem =
      'wrong.md: the file name does not begin with the id TASK-001; "TASK-001 - A.md" already exists: rename it, then run: forge-tasks doctor --fix'
    for (const args of [
      ['doctor', '--plain'],
      ['doctor', '--fix', '--plain'],
    ]) {
      const { code, stdout } = await project.run(args)
      expect(code).toBe(1)
      expect(stdout.split('\n')).toContain(problem)
    }
  })
})
