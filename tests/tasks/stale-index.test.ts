import { describe, expect, test } from 'bun:test'
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORGE_TASKS, TaskProject, taskText } from '../support/forge-tasks.ts'

/** Ten indexed tasks; the second one depends on the last. */
async function makeIndexed(): Promise<TaskProject> {
  const files = Array.from({ length: 10 }, (_, at) => {
    const id = `TASK-${String(at + 1).padStart(3, '0')}`
    const fields = [`id: ${id}`, `title: T${at}`, `status: ${at === 9 ? 'Done ' : 'To Do'}`]
    const waits = at === 1 ? ['dependencies: [TASK-010]', 'priority: high'] : []
    return [`${id} - T.md`, taskText([...fields, ...waits])] as const
  })
  const project = new TaskProject(Object.fromEntries(files))
  for (const [name] of files) utimesSync(join(project.folder, name), 1e9, 1e9)
  await project.must('list')
  return project
}

/** Changes a file in place and keeps its size and time. */
function changeSecretly(project: TaskProject, name: string, from: string, to: string): void {
  const path = join(project.folder, name)
  const before = statSync(path)
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
  utimesSync(path, before.atime, before.mtime)
  expect(statSync(path).size).toBe(before.size)
}

describe.each([['next'], ['next', '--claim']])('%s %s', (...args) => {
  const command = args.filter((each) => each !== undefined)

  test('does not offer a task whose file says Done', async () => {
    const project = await makeIndexed()
    changeSecretly(project, 'TASK-002 - T.md', 'status: To Do', 'status: Done ')
    expect(await project.must(...command)).toStartWith('id: TASK-001\n')
    expect(project.read('TASK-002 - T.md')).toContain('status: Done')
    expect(await project.must('list', '-s', 'done', '--plain')).toContain('TASK-002')
  })

  test('does not offer a task if the file of a dependency says To Do', async () => {
    const project = await makeIndexed()
    changeSecretly(project, 'TASK-010 - T.md', 'status: Done ', 'status: To Do')
    expect(await project.must(...command)).toMatch(/^id: TASK-0(?:10|01)\n/)
    expect(project.read('TASK-002 - T.md')).toContain('status: To Do')
  })
})

test('list reads a file again whose size and time are as before', async () => {
  const project = await makeIndexed()
  changeSecretly(project, 'TASK-002 - T.md', 'title: T1', 'title: X1')
  expect(await project.must('list', '--plain')).toContain('X1')
})

const POISON = JSON.stringify({ seenAt: 9e15, rows: [[null, null]] })

test.each([
  ['an older version', `${Bun.hash(POISON, 7)}\n${POISON}`],
  ['another machine', `${new Bun.CryptoHasher('sha256').update(POISON).digest('hex')}\n${POISON}`],
])('an index from %s is ignored', async (_, index) => {
  const project = await makeIndexed()
  writeFileSync(join(project.folder, '.local/index'), index)
  expect((await project.must('list', '--plain')).trim().split('\n')).toHaveLength(10)
})

test.each([[['--description', '-', 'x']], [['--batch']]])(
  'create %j does not read endless input',
  async (args) => {
    const project = new TaskProject()
    const program = ['sh', '-c', 'exec "$0" "$@" </dev/zero', FORGE_TASKS]
    const { code, stderr } = await project.run(['create', ...args], { program })
    expect(code).toBe(2)
    expect(stderr).toContain('stdin is longer than')
  },
)
