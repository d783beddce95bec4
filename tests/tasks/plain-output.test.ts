import { expect, test } from 'bun:test'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const say = (stdout: string, stderr = '') => ({ code: 0, stdout, stderr })

test('archive --plain prints one id per line, or nothing', async () => {
  const project = new TaskProject()
  for (const title of ['One', 'Two']) await project.must('create', title, '-s', 'done')
  expect(await project.run(['archive', '1', '2', '--plain'])).toEqual(say('TASK-001\nTASK-002\n'))
  expect(await project.run(['archive', '--done', '--plain'])).toEqual(say(''))
  expect(await project.run(['archive', '--done'])).toEqual(say('Nothing to archive.\n'))
})

test('delete --plain prints the id', async () => {
  const project = new TaskProject()
  await project.must('create', 'One')
  expect(await project.run(['delete', '1', '--plain'])).toEqual(say('TASK-001\n'))
})

test('release --plain prints the task, and on stderr why it stays claimed', async () => {
  const project = new TaskProject()
  await project.must('create', 'One')
  await project.must('claim', '1')
  const free = say('TASK-001 | To Do | - | One\n')
  expect(await project.run(['release', '1', '--plain'])).toEqual(free)
  expect(await project.run(['release', '1', '--plain'])).toEqual(free)
  await project.must('edit', '1', '--status', 'blocked')
  expect(await project.run(['release', '1', '--plain'])).toEqual(
    say(
      'TASK-001 | Blocked | - | One\n',
      'TASK-001 stays Blocked. To reopen it: forge-tasks edit TASK-001 --status todo\n',
    ),
  )
})

test('init --plain prints the path, whether the file is new or not', async () => {
  const project = new TaskProject()
  const path = say('<root>/forge/tasks/config.json\n')
  expect(await project.run(['init', '--plain'])).toEqual(path)
  expect(await project.run(['init', '--plain'])).toEqual(path)
})

test('doctor --plain prints one finding per line, or nothing', async () => {
  const project = new TaskProject({ 'a.md': taskText(['id: TASK-001', 'title: A']) })
  const finding = 'a.md: the file name does not begin with the id TASK-001'
  const found = await project.run(['doctor', '--plain'])
  expect(found).toEqual({ code: 1, stdout: `${finding}\n`, stderr: '' })
  const mended = `${finding} -> renamed to "TASK-001 - A.md"\n`
  expect(await project.run(['doctor', '--fix', '--plain'])).toEqual(say(mended))
  expect(await project.run(['doctor', '--plain'])).toEqual(say(''))
})
