import { expect, test } from 'bun:test'
import { TaskProject } from '../support/forge-tasks.ts'
import { TaskDatabase } from '../../src/tasks/database.ts'

const BATCH = ['create', '--batch']

async function makeProject(): Promise<TaskProject> {
  const project = new TaskProject()
  await project.must('create', 'One')
  return project
}

test('all missing references are reported at once, each with its line', async () => {
  const project = await makeProject()
  const stdin = [
    '{"title":"A","dependsOn":["99","1","@x"]}',
    '',
    '{"title":"B","dependsOn":["zz/z"]}',
    '{"title":"C","parent":"77","key":"c"}',
    '{"title":"D","parent":"@y","key":"c"}',
  ].join('\n')
  const { code, stdout, stderr } = await project.run(BATCH, { stdin })
  expect({ code, stdout, names: project.names() }).toEqual({
    code: 2,
    stdout: '',
    names: ['TASK-001 - One.md'],
  })
  expect(stderr).toBe(
    [
      'forge-tasks: stdin:1: No task TASK-099. Similar ids: TASK-001 One',
      "  stdin:1: No task of this batch has the key 'x'.",
      "  stdin:3: 'zz/z' is not a task id. Use an id such as TASK-001 or 1.",
      '  stdin:4: No task TASK-077. Similar ids: TASK-001 One',
      `  stdin:5: Duplicate key 'c'. "C" has the same key.`,
      "  stdin:5: No task of this batch has the key 'y'.",
      '',
    ].join('\n'),
  )
  const json = await project.run([...BATCH, '--json'], { stdin })
  expect((JSON.parse(json.stdout) as { problems: unknown[] }).problems).toHaveLength(6)
})

test('missing references and other mistakes are reported in the order of the lines', async () => {
  const project = await makeProject()
  const stdin = '{"title":"A","parent":"77"}\n{"title":"B","status":"soon"}\n{"title":""}'
  const { code, stderr } = await project.run(BATCH, { stdin })
  expect(code).toBe(2)
  expect(stderr.match(/stdin:\d+: [^.']*/g)).toEqual([
    'stdin:1: No task TASK-077',
    'stdin:2: Unknown status ',
    'stdin:3: The title is empty',
  ])
})

test('a single missing reference is reported with suggestions', async () => {
  const project = await makeProject()
  const stdin = '{"title":"A"}\n{"title":"B","dependsOn":["7"]}'
  expect(await project.run(BATCH, { stdin })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'forge-tasks: stdin:2: No task TASK-007.\n  Similar ids:\n    TASK-001  One\n',
  })
})

test.each([
  ['dependsOn', ['["@b"]', '["@c"]', '["@a"]'], 'These tasks would depend on each other'],
  ['parent', ['"@b"', '"@c"', '"@a"'], 'These tasks would be parents of each other'],
])('a cycle of %s is reported with the keys of the batch', async (field, to, message) => {
  const project = await makeProject()
  const stdin = ['a', 'b', 'c']
    .map((key, at) => `{"title":"T","key":"${key}","${field}":${to[at]}}`)
    .join('\n')
  const { code, stderr } = await project.run(BATCH, { stdin })
  expect(code).toBe(1)
  expect(stderr).toStartWith(`forge-tasks: ${message}: @a -> @b -> @c -> @a\n`)
  expect(project.names()).toEqual(['TASK-001 - One.md'])
})

test('both missing references of one task are reported', async () => {
  const project = await makeProject()
  const { code, stderr } = await project.run(['create', 'A', '--depends-on', '8', '--parent', '9'])
  expect(code).toBe(1)
  expect(stderr).toBe(
    'forge-tasks: No task TASK-008. Similar ids: TASK-001 One\n' +
      '  No task TASK-009. Similar ids: TASK-001 One\n',
  )
})

test('the library reports which of several tasks is wrong', async () => {
  const project = await makeProject()
  const database = new TaskDatabase({ cwd: project.root, env: {} })
  const tasks = [{ title: 'A' }, { title: 'B', dependencies: ['8'] }, { title: 'C', parent: '9' }]
  expect(() => database.createAll(tasks)).toThrow(
    'tasks[1]: No task TASK-008. Similar ids: TASK-001 One\n' +
      'tasks[2]: No task TASK-009. Similar ids: TASK-001 One',
  )
})

test('a thousand missing references are reported quickly', async () => {
  const project = await makeProject()
  const stdin = Array.from({ length: 1000 }, () => '{"title":"A","dependsOn":["99"]}').join('\n')
  const started = performance.now()
  expect((await project.run(BATCH, { stdin })).code).toBe(1)
  expect(performance.now() - started).toBeLessThan(30_000)
})
