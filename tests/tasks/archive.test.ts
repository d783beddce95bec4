import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const WAITS = taskText(['id: TASK-002', 'title: B', 'dependencies: [TASK-001]'])
const BROKEN = '---\nid: TASK-001\nstatus: Done\nlabels: ]\n---\n'
const DONE = taskText(['id: TASK-001', 'title: Login', 'status: Done'], '## Notes\n\nport 80\n')

function archived(project: TaskProject): string[] {
  return readdirSync(join(project.folder, 'archive')).toSorted()
}

const SHELVED = '## Notes\n\nArchived while To Do.\n'

describe('a file of the archive that cannot be used', () => {
  test('is reported by the doctor, and next points to the doctor', async () => {
    const project = new TaskProject({ 'archive/TASK-001 - A.md': BROKEN, 'TASK-002 - B.md': WAITS })
    const { stderr } = await project.run(['next'])
    expect(stderr).toEndWith('Check the dependencies: forge-tasks doctor\n')
    const { code, stdout } = await project.run(['doctor', '--plain'])
    expect({ code, lines: stdout.trim().split('\n') }).toEqual({
      code: 1,
      lines: [expect.stringMatching(/^archive\/TASK-001 - A\.md:4: the frontmatter is not valid/)],
    })
    await project.run(['doctor', '--fix'])
    expect(project.read('archive/TASK-001 - A.md')).toBe(BROKEN)
    expect(project.read('TASK-002 - B.md')).toBe(WAITS)
  })

  test.each(['archive/login.md', 'login.md'])(
    'counts as a dependency by the id in its text: %s',
    async (name) => {
      const project = new TaskProject({ [name]: BROKEN, 'TASK-002 - B.md': WAITS })
      const { code, stdout } = await project.run(['doctor', '--fix', '--plain'])
      expect(code).toBe(1)
      expect(stdout).toMatch(new RegExp(`^${name}:4: the frontmatter is not valid YAML.*\n$`))
      expect(project.read('TASK-002 - B.md')).toBe(WAITS)
      expect(await project.must('create', 'C', '--plain')).toBe('TASK-003\n')
    },
  )

  test('is fixed if it has a merge conflict that can be resolved', async () => {
    const conflict = `${DONE}\n<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n`
    const project = new TaskProject({ 'archive/TASK-001 - Login.md': conflict })
    await project.must('doctor', '--fix')
    expect(project.read('archive/TASK-001 - Login.md')).toContain('one\n')
    expect(project.read('archive/TASK-001 - Login.md')).not.toContain('<<<<<<<')
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })

  test('is not reported if it is a README', async () => {
    const project = new TaskProject({ 'archive/README.md': '# What is done\n' })
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })
})

describe('a file of the archive that was renamed', () => {
  const makeProject = () =>
    new TaskProject({ 'archive/old-login.md': DONE, 'TASK-002 - B.md': WAITS })

  test('is found by the id in its content', async () => {
    const project = makeProject()
    expect(await project.must('list', '--ready', '--plain')).toBe('TASK-002 | To Do | - | B\n')
    expect(await project.must('next')).toContain('## Notes of TASK-001\n\nport 80\n')
    expect(await project.json('view', '1')).toMatchObject({ file: 'archive/old-login.md' })
    await project.must('create', 'C', '--depends-on', '1')
    await project.must('edit', '3', '--parent', '1')
  })

  test('is renamed by the doctor, and dependencies on it stay', async () => {
    const project = makeProject()
    expect((await project.run(['doctor', '--plain'])).stdout).toBe(
      'archive/old-login.md: the file name does not begin with the id TASK-001\n',
    )
    expect(await project.must('doctor', '--fix', '--plain')).toBe(
      'archive/old-login.md: the file name does not begin with the id TASK-001 -> renamed to "TASK-001 - Login.md"\n',
    )
    expect(archived(project)).toEqual(['TASK-001 - Login.md'])
    expect(project.read('TASK-002 - B.md')).toBe(WAITS)
  })
})

describe('a task of the archive that is not done', () => {
  const ACTION =
    'waits for TASK-001 (archived, To Do): run "forge-tasks unarchive TASK-001" or "forge-tasks edit TASK-002 --remove-dep TASK-001"'

  test('counts when a new dependency would close a cycle', async () => {
    const project = await makeProject()
    expect(await project.run(['edit', '2', '--depends-on', '1'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'forge-tasks: TASK-002 would depend on itself: TASK-002 -> TASK-001 -> TASK-002\n' +
        '  Remove one of these dependencies first.\n',
    })
    expect(await project.must('view', '2')).not.toContain('dependencies:')
    await project.must('edit', '1', '--parent', '2')
    const { code, stderr } = await project.run(['edit', '2', '--parent', '1'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('TASK-002 would be its own ancestor: TASK-002 -> TASK-001'),
    })
  })

  test('does not count for cycles once it is done', async () => {
    const project = await makeProject()
    await project.must('edit', '1', '--status', 'done', '--force')
    await project.must('edit', '2', '--depends-on', '1')
    expect(await project.must('list', '--ready', '--plain')).toBe('TASK-002 | To Do | - | Two\n')
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })

  test('is shown with the commands that resolve it', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': taskText(['id: TASK-001', 'title: A']),
      'TASK-002 - B.md': WAITS,
    })
    expect((await project.run(['next'])).stderr).toBe(`No task is ready:\n  TASK-002: ${ACTION}\n`)
    expect(await project.must('list', '--ready', '--explain')).toBe(
      `TASK-002 | To Do | - | B | ${ACTION}\n`,
    )
    await project.must('edit', 'TASK-002', '--remove-dep', 'TASK-001')
    expect(await project.must('list', '--ready', '--plain')).toBe('TASK-002 | To Do | - | B\n')
  })

  test.each([
    ['wait', 'dependencies: [TASK-002]', 'dependencies: [TASK-001]', 'depends on itself'],
    ['are parts', 'parent: TASK-002', 'parent: TASK-001', 'is its own ancestor'],
  ])('a cycle of tasks that %s is broken by the doctor', async (_, one, two, problem) => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': taskText(['id: TASK-001', 'createdAt: 2026-02-01', one], SHELVED),
      'TASK-002 - B.md': taskText(['id: TASK-002', 'createdAt: 2026-01-01', two]),
    })
    const { stdout } = await project.run(['doctor', '--plain'])
    expect(stdout).toBe(`archive/TASK-001 - A.md: ${problem}: TASK-001 -> TASK-002 -> TASK-001\n`)
    await project.must('doctor', '--fix')
    expect(await project.must('doctor')).toBe('No problems found.\n')
    expect(project.read('archive/TASK-001 - A.md')).not.toContain(one)
    expect(project.read('TASK-002 - B.md')).toContain(two)
  })

  async function makeProject(): Promise<TaskProject> {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('create', 'Two')
    await project.must('edit', '1', '--depends-on', '2')
    await project.must('archive', '1', '--force')
    return project
  }
})
