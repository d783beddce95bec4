import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ON_READ_ONLY_DISK, TaskProject, taskText } from '../support/forge-tasks.ts'
import { FORKHESTRA, Running } from '../support/forkhestra.ts'
import { sh, writeFiles } from '../support/project.ts'
import { addWorktrees, forgeTasks, git, makeClone, mustTasks } from '../support/tasks-stress.ts'

describe('if nothing is ready, next', () => {
  test('reports unreadable files instead of claiming that there are no tasks', async () => {
    const project = new TaskProject({ 'TASK-001 - A.md': '---\ntitle: [\n---\n' })
    const { code, stderr } = await project.run(['next', '--claim'])
    expect(code).toBe(1)
    expect(stderr).toEndWith('\n1 file cannot be read: forge-tasks doctor\n')
    expect(stderr).not.toContain('No open tasks.')
  })

  test('says once how to reopen a blocked task', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'status: Blocked']),
      'TASK-002 - B.md': taskText(['id: TASK-002', 'status: Blocked']),
    })
    expect((await project.run(['next'])).stderr).toBe(
      [
        'No task is ready:',
        '  TASK-001: status is Blocked',
        '  TASK-002: status is Blocked',
        'Read its notes: forge-tasks view TASK-001; reopen it: forge-tasks edit TASK-001 --status todo',
        '',
      ].join('\n'),
    )
  })

  test.each([
    ['a missing task', ['dependencies: [TASK-009]']],
    ['itself', ['dependencies: [TASK-001]']],
  ])('suggests the doctor for a task that waits for %s', async (_, lines) => {
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001', ...lines]) })
    const { stderr } = await project.run(['next'])
    expect(stderr).toEndWith('\nCheck the dependencies: forge-tasks doctor\n')
  })

  test('says that an In Progress task from another clone is not claimed here', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', 'status: In Progress']),
    })
    const why = 'In Progress, but not claimed here: forge-tasks release TASK-001'
    expect((await project.run(['next'])).stderr).toBe(`No task is ready:\n  TASK-001: ${why}\n`)
    const explained = await project.must('list', '--ready', '--explain', '--plain')
    expect(explained).toBe(`TASK-001 | In Progress | - | A | ${why}\n`)
    await project.must('claim', '1', '--as', 'a')
    const { stderr } = await project.run(['next', '--as', 'a'])
    expect(stderr).toBe('No task is ready:\n  TASK-001: status is In Progress\n')
  })
})

describe('an expired claim', () => {
  test.each([
    ['list --ready --plain', 'TASK-001 | To Do | - | One\n'],
    ['list --ready --explain --plain', 'TASK-001 | To Do | - | One | ready\n'],
    ['stats', 'To Do: 1\nIn Progress: 0\nBlocked: 0\nDone: 0\nReady: 1\n'],
    ['view 1', 'id: TASK-001\ntitle: One\nstatus: To Do\n'],
  ])('has ended for %s', async (command, expected) => {
    const project = await withDeadClaim()
    expect(await project.must(...command.split(' '))).toStartWith(expected)
  })

  test('is reported if nothing can be written', async () => {
    const project = await withDeadClaim()
    const args = ['list', '--ready', '--explain', '--plain']
    const { code, stdout } = await project.run(args, { program: ON_READ_ONLY_DISK })
    expect(code).toBe(0)
    expect(stdout).toContain('| In Progress, but not claimed here')
  })

  async function withDeadClaim(): Promise<TaskProject> {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('claim', '1', '--as', 'w')
    const state = readFileSync(join(project.folder, '.local/state.json'), 'utf8')
    project.write('.local/state.json', state.replace(/"until":"\d+/, '"until":"2001'))
    return project
  }
})

describe('an owner without a name', () => {
  const USAGE =
    'forge-tasks: The name given with --as is empty.\n  Pass a name, for example --as builder-1, or omit --as.\n'

  test.each([
    ['claim 1 --as', ''],
    ['list --as', ''],
    ['next --claim --as', ' '],
    ['mcp --as', ''],
  ])('is refused: %s %j', async (line, name) => {
    const project = new TaskProject()
    await project.must('create', 'One')
    expect(await project.run([...line.split(' '), name])).toMatchObject({ code: 2, stderr: USAGE })
    expect(await project.must('list', '--plain')).toBe('TASK-001 | To Do | - | One\n')
  })

  test('is called somebody if USER is empty', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    const { stdout } = await project.run(['claim', '1'], { env: { USER: '' } })
    expect(stdout).toContain('assignee: somebody\n')
    expect(await project.run(['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
  })
})

test('a claim made while the clock was ahead lasts at most one lease', async () => {
  const project = new TaskProject()
  await project.must('create', 'One')
  await project.must('claim', '1', '--as', 'w', '--lease', '1h')
  const path = join(project.folder, '.local/state.json')
  const state = readFileSync(path, 'utf8')
  project.write('.local/state.json', state.replace(/"until":"\d+/, '"until":"2999'))
  await project.must('create', 'Two')
  const [, until = ''] = /"until":"([^"]*)"/.exec(readFileSync(path, 'utf8'))!
  expect(Date.parse(until)).toBeGreaterThan(Date.now())
  expect(Date.parse(until)).toBeLessThan(Date.now() + 60 * 60 * 1000 + 1)
})

test('a person who stops a run three times does not block its task', async () => {
  const root = await makeClone(['One'])
  const agent = sh('forge-tasks claim 1 > /dev/null && echo started', 'exec tail -f /dev/null')
  writeFiles(root, { agent })
  const env = { PATH: `${root}:${dirname(FORKHESTRA)}:${process.env['PATH']}` }
  for (const _ of [1, 2, 3]) {
    const run = new Running(['agent'], { cwd: root, env })
    await run.printed('started')
    run.signal('SIGINT')
    await run.finished
  }
  const view = await mustTasks(root, ['view', '1'])
  expect(view).toContain('status: To Do\n')
  expect(view.match(/^attempt: .*: released, interrupted$/gm)).toHaveLength(3)
})

describe('a worktree that is removed', () => {
  test('does not block the tasks that were settled there', async () => {
    const root = await makeClone(['One'])
    const [worktree] = (await addWorktrees(root, 1)) as [string]
    await mustTasks(worktree, ['edit', '1', '--status', 'done'])
    await git(root, 'worktree', 'remove', '--force', worktree)
    expect(await mustTasks(root, ['view', '1'])).not.toContain('claimed:')
    expect(await mustTasks(root, ['list', '--ready', '--plain'])).toContain('TASK-001')
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('blocks them until then, and claim says what to do', async () => {
    const root = await makeClone(['One'])
    const [worktree] = (await addWorktrees(root, 1)) as [string]
    await mustTasks(worktree, ['edit', '1', '--status', 'done'])
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(
        /^forge-tasks: TASK-001 is done in \S+, not merged here, since \S+ \S+\.\n {2}Merge it, or release it: forge-tasks release TASK-001\n$/,
      ),
    })
  })
})

describe('release', () => {
  test.each([
    ['Done', 'TASK-001 stays Done.\n'],
    ['Blocked', 'TASK-001 stays Blocked. To reopen it: forge-tasks edit TASK-001 --status todo\n'],
    ['To Do', 'TASK-001 is already To Do and was not claimed.\n'],
    ['In Progress', 'Released TASK-001\n'],
  ])('of a task that is %s describes its state', async (status, expected) => {
    const lines = ['id: TASK-001', `status: ${status}`]
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(lines) })
    expect(await project.must('release', '1')).toBe(expected)
  })
})

describe('an archived task', () => {
  test('must be done, unless forced', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('create', 'Two', '--depends-on', '1')
    expect(await project.run(['archive', '1'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'forge-tasks: TASK-001 is To Do.\n  Finish it first, or archive it anyway with --force.\n',
    })
    expect(await project.must('archive', '1', '--force')).toBe('Archived TASK-001\n')
    expect((await project.run(['next'])).stderr).toContain(
      '  TASK-002: waits for TASK-001 (archived, To Do): run "forge-tasks unarchive TASK-001" or "forge-tasks edit TASK-002 --remove-dep TASK-001"\n',
    )
  })

  test('cannot be claimed but can be edited, and is shown with its folder', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': taskText(['id: TASK-001', 'status: To Do']),
    })
    expect(await project.run(['claim', '1'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^forge-tasks: TASK-001 is archived\.\n/),
    })
    await project.must('edit', '1', '--status', 'done')
    const file = 'archive/TASK-001 - A.md'
    expect(await project.json('view', '1')).toMatchObject({ file, status: 'Done' })
  })
})

describe('a cycle of parents', () => {
  test('is refused', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('create', 'Two', '--parent', '1')
    expect(await project.run(['edit', '1', '--parent', '2'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'forge-tasks: TASK-001 would be its own ancestor: TASK-001 -> TASK-002 -> TASK-001\n' +
        '  Remove one of these parents first.\n',
    })
  })

  test('is refused in a batch', async () => {
    const project = new TaskProject()
    const stdin = '{"title":"A","key":"a","parent":"@b"}\n{"title":"B","key":"b","parent":"@a"}'
    const { code, stderr } = await project.run(['create', '--batch'], { stdin })
    expect(code).toBe(1)
    expect(stderr).toContain('@a -> @b -> @a')
    expect(project.names()).toEqual([])
  })

  test('that was written by hand is fixed by the doctor', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', 'parent: TASK-002']),
      'TASK-002 - B.md': taskText(['id: TASK-002', 'title: B', 'parent: TASK-001']),
    })
    const { code, stdout } = await project.run(['doctor'])
    expect(code).toBe(1)
    expect(stdout).toContain('is its own ancestor: TASK-002 -> TASK-001 -> TASK-002')
    await project.run(['doctor', '--fix'])
    expect(await project.must('doctor')).toBe('No problems found.\n')
    expect(project.read('TASK-001 - A.md')).toContain('parent: TASK-002')
    expect(project.read('TASK-002 - B.md')).not.toContain('parent: TASK-001')
  })
})
