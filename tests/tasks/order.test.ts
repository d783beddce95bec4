import { describe, expect, test } from 'bun:test'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

/** Tasks by number with these fields, each created a day after the previous one. */
function makeTasks(tasks: Readonly<Record<number, readonly string[]>>): TaskProject {
  return new TaskProject(
    Object.fromEntries(
      Object.entries(tasks).map(([number, fields]) => {
        const age = `createdAt: 2026-01-0${number}T00:00:00.000Z`
        const text = taskText([`id: TASK-00${number}`, `title: T${number}`, ...fields, age])
        return [`TASK-00${number} - T${number}.md`, text]
      }),
    ),
  )
}

async function order(project: TaskProject, ...args: string[]): Promise<string> {
  const { tasks } = JSON.parse(await project.must('list', ...args, '--json'))
  return tasks.map(({ id }: { id: string }) => id.slice(-1)).join(' ')
}

const [YESTERDAY, TODAY, TOMORROW] = [-1, 0, 1].map((days) => {
  const now = new Date()
  return new Intl.DateTimeFormat('sv').format(now.setDate(now.getDate() + days))
})

describe('tasks are ready in the order of their urgency', () => {
  test('no priority ranks between medium and low', async () => {
    const project = makeTasks({
      1: ['priority: low'],
      2: [],
      3: ['priority: medium'],
      4: ['priority: high'],
    })
    expect(await order(project, '--ready')).toBe('4 3 2 1')
    expect(await order(project)).toBe('4 3 2 1')
  })

  test('a task is as urgent as what depends on it, directly or not', async () => {
    const project = makeTasks({
      1: ['priority: medium'],
      2: ['priority: low'],
      3: ['dependencies: [TASK-002]'],
      4: ['priority: high', 'dependencies: [TASK-003]'],
    })
    expect(await order(project, '--ready')).toBe('2 1')
    expect(await project.must('next', '--plain')).toStartWith('id: TASK-002\n')
    expect(await order(project)).toBe('4 1 3 2')
  })

  test('done tasks and cycles do not add urgency', async () => {
    const project = makeTasks({
      1: [],
      2: ['priority: low'],
      3: ['priority: high', 'status: Done', 'dependencies: [TASK-002]'],
      4: ['priority: low', 'dependencies: [TASK-005]'],
      5: ['priority: low', 'dependencies: [TASK-004]'],
    })
    expect(await order(project, '--ready')).toBe('1 2')
  })

  test('overdue tasks and their dependencies come first within their priority', async () => {
    const project = makeTasks({
      1: ['priority: medium'],
      2: ['priority: medium', `due: ${TOMORROW}`],
      3: ['priority: medium', `due: ${YESTERDAY}`],
      4: ['priority: medium', `due: ${YESTERDAY}`, 'dependencies: [TASK-005]'],
      5: ['priority: medium'],
      6: ['priority: high', `due: ${TODAY}`],
      7: ['priority: medium', 'due: 2026-01-01T00:00:00Z', 'status: Done'],
    })
    expect(await order(project, '--ready')).toBe('6 5 3 1 2')
    expect(await order(project)).toBe('6 3 4 1 2 5 7')
  })
})

test('list shows what is overdue', async () => {
  const project = makeTasks({ 1: [`due: ${YESTERDAY}`], 2: [`due: ${TOMORROW}`], 3: [] })
  expect(await project.must('list')).toBe(
    `TASK-001  To Do  T1 (overdue since ${YESTERDAY})\nTASK-002  To Do  T2\nTASK-003  To Do  T3\n`,
  )
  expect(await project.must('list', '--plain')).toStartWith('TASK-001 | To Do | - | T1\n')
  const { tasks } = JSON.parse(await project.must('list', '--json'))
  expect(tasks.map((task: { isOverdue: boolean }) => task.isOverdue)).toEqual([true, false, false])
})
