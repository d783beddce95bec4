import { describe, expect, test } from 'bun:test'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { taskText, TaskProject } from '../support/forge-tasks.ts'
import { addWorktrees, git, makeClone, mustTasks } from '../support/tasks-stress.ts'

async function create(project: TaskProject, ...args: string[]): Promise<string> {
  return (await project.must('create', 'New', ...args, '--plain')).trim()
}

/** A task from somewhere else: git, an editor, another machine. */
function put(project: TaskProject, file: string, id: string): void {
  writeFileSync(
    join(project.folder, file),
    taskText([`id: ${id}`, 'title: Foreign', 'status: To Do']),
  )
}

describe('create', () => {
  const foreign: Record<string, (project: TaskProject) => void> = {
    'a file was added': (project) => put(project, 'TASK-040 - Foreign.md', 'TASK-040'),
    'a file was renamed': (project) => {
      renameSync(
        join(project.folder, 'TASK-001 - New.md'),
        join(project.folder, 'TASK-040 - New.md'),
      )
    },
    'a file was added to the archive': (project) =>
      put(project, 'archive/TASK-040 - Foreign.md', 'TASK-040'),
    'the archive came with it': (project) => {
      rmSync(join(project.folder, 'archive'), { recursive: true })
      mkdirSync(join(project.folder, 'archive'))
      put(project, 'archive/TASK-040 - Foreign.md', 'TASK-040')
    },
    'a file says another id than its name': (project) => put(project, 'notes.md', 'TASK-040'),
  }

  for (const [what, change] of Object.entries(foreign)) {
    test(`gives no id that is in use: ${what}`, async () => {
      const project = new TaskProject()
      expect(await create(project)).toBe('TASK-001')
      expect(await create(project)).toBe('TASK-002')
      change(project)
      expect(await create(project)).toBe('TASK-041')
      expect(await create(project)).toBe('TASK-042')
    })
  }

  test('does not reuse the id of a deleted task', async () => {
    const project = new TaskProject()
    await create(project)
    await create(project)
    await project.must('delete', '2')
    expect(await create(project)).toBe('TASK-003')
  })

  test('numbers each prefix separately', async () => {
    const project = new TaskProject()
    await create(project)
    put(project, 'BUG-007 - Foreign.md', 'BUG-007')
    await create(project)
    writeFileSync(join(project.folder, 'config.json'), '{ "prefix": "BUG" }')
    expect(await create(project)).toBe('BUG-008')
    expect(await create(project)).toBe('BUG-009')
  })

  test('refuses a dependency on a missing task', async () => {
    const project = new TaskProject()
    await create(project)
    await create(project)
    const { code, stderr } = await project.run(['create', 'New', '--depends-on', '9'])
    expect(code).toBe(1)
    expect(stderr).toContain('TASK-009')
    expect(await create(project, '--depends-on', '2')).toBe('TASK-003')
  })

  test('sees files that git added, in each worktree', async () => {
    const root = await makeClone(['One'])
    const [other] = await addWorktrees(root, 1)
    await mustTasks(root, ['create', 'Two'])
    await mustTasks(root, ['create', 'Three'])
    expect((await mustTasks(other!, ['create', 'Four', '--plain'])).trim()).toBe('TASK-004')
    expect((await mustTasks(root, ['create', 'Five', '--plain'])).trim()).toBe('TASK-005')
    writeFileSync(
      join(other!, 'forge/tasks/TASK-020 - Far.md'),
      taskText(['id: TASK-020', 'title: Far', 'status: To Do']),
    )
    await git(other!, 'add', '.')
    await git(other!, 'commit', '-qm', 'Far')
    await git(root, 'merge', '-q', await git(other!, 'rev-parse', 'HEAD'))
    expect((await mustTasks(root, ['create', 'Six', '--plain'])).trim()).toBe('TASK-021')
  })
})

test('a hundred creates between files from elsewhere never reuse a number', async () => {
  const project = new TaskProject()
  const given = new Set<string>()
  for (let turn = 0; turn < 100; turn++) {
    const highest = Math.max(0, ...[...given].map((id) => Number(id.slice('TASK-'.length))))
    if (turn % 3 === 2) {
      const id = `TASK-${highest + 1 + (turn % 2)}`
      put(project, `${id} - Foreign.md`, id)
      given.add(id)
    }
    const id = await create(project)
    expect(given.has(id)).toBe(false)
    given.add(id)
  }
})
