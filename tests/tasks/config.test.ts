import { describe, expect, test } from 'bun:test'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const WRONG: readonly (readonly [string, string])[] = [
  ['[]', 'is not a JSON object'],
  ['null', 'is not a JSON object'],
  ['"WEB"', 'is not a JSON object'],
  ['{"prefix":5}', 'has "prefix": 5, expected letters, digits and _ such as "TASK"'],
  ['{"prefix":""}', 'has "prefix": "", expected letters, digits and _ such as "TASK"'],
  ['{"prefix":"../x"}', 'has "prefix": "../x", expected letters, digits and _ such as "TASK"'],
  ['{"name":["shop"]}', 'has "name": ["shop"], expected a string'],
  ['{"projectName":7}', 'has "projectName": 7, expected a string'],
  ['{"defaults":[]}', 'has "defaults": [], expected an object such as {"labels": ["backend"]}'],
  ['{"defaults":{"priority":5}}', 'has "defaults.priority": 5, expected high, medium or low'],
  ['{"defaults":{"priority":"x"}}', 'has "defaults.priority": "x", expected high, medium or low'],
  ['{"defaultPriority":"urgent"}', 'has "defaultPriority": "urgent", expected high, medium or low'],
  [
    '{"defaults":{"labels":"x"}}',
    'has "defaults.labels": "x", expected a list of strings such as ["backend"]',
  ],
  [
    '{"defaults":{"labels":["x",1]}}',
    'has "defaults.labels": ["x",1], expected a list of strings such as ["backend"]',
  ],
  [
    '{"defaultLabels":[" "]}',
    'has "defaultLabels": [" "], expected a list of strings such as ["backend"]',
  ],
]

describe('an invalid value in the configuration', () => {
  test.each(WRONG)(
    '%s is refused with file and key, and the doctor names it',
    async (text, why) => {
      const task = taskText(['id: TASK-001', 'title: A'])
      const project = new TaskProject({ 'config.json': text, 'TASK-001 - A.md': task })
      expect(await project.run(['create', 'B'])).toEqual({
        code: 2,
        stdout: '',
        stderr: `forge-tasks: <root>/forge/tasks/config.json ${why}.\n  Fix or delete it.\n`,
      })
      expect(project.names()).toEqual(['TASK-001 - A.md'])
      expect(await project.run(['doctor', '--plain'])).toMatchObject({
        code: 1,
        stdout: `config.json: ${why}\n`,
      })
      expect(await project.must('list', '--plain')).toBe('TASK-001 | To Do | - | A\n')
    },
  )

  test('is reported together with the others', async () => {
    const text = '{"prefix":5,"defaults":{"labels":"x","priority":5}}'
    const project = new TaskProject({ 'config.json': text })
    const { stderr } = await project.run(['create', 'B'])
    expect(stderr).toBe(
      'forge-tasks: <root>/forge/tasks/config.json has "prefix": 5, expected letters, digits and _ such as "TASK";' +
        ' "defaults.priority": 5, expected high, medium or low;' +
        ' "defaults.labels": "x", expected a list of strings such as ["backend"].\n' +
        '  Fix or delete it.\n',
    )
  })
})

test.each([
  ['{}', 'TASK-001'],
  ['{"prefix":null,"name":null,"defaults":null}', 'TASK-001'],
  ['{"prefix":"web","name":"","defaults":{"priority":null,"labels":[]}}', 'WEB-001'],
  ['{"prefix":"web","projectName":"","defaultPriority":"","defaultLabels":[]}', 'WEB-001'],
])('%s is valid', async (text, id) => {
  const project = new TaskProject({ 'config.json': text })
  expect(await project.must('create', 'B', '--plain')).toBe(`${id}\n`)
  expect(await project.must('doctor')).toBe('No problems found.\n')
})
