import { expect, test } from 'bun:test'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const BODY = `Use port 8080, never 80.

# Big heading

Important.

## Plan

the short plan

## Implementation Plan

the long plan

## Description

first

## Description

second description

## Ask Bob first

## Acceptance Criteria

All of these have to hold on Windows too.

- [ ] #1 one
      and it has to be fast
- [x] #2 two

On Linux also:

- [ ] #3 three

## Notes

n1

## Implementation Notes

n2
`

const SHOWN = `
Use port 8080, never 80.

# Big heading

Important.

## Description

first

## Acceptance Criteria

All of these have to hold on Windows too.

- [ ] #1 one
  and it has to be fast
- [x] #2 two

On Linux also:

- [ ] #3 three

## Implementation Plan

the long plan

## Implementation Notes

n2

## Plan

the short plan

## Description

second description

## Ask Bob first

## Notes

n1
`

function makeProject(): TaskProject {
  return new TaskProject({
    'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', 'status: To Do'], BODY),
  })
}

test.each([[['view', '1']], [['next']], [['view', '1', '--plain']]])(
  '%j shows all that a person has written, once',
  async (args) => {
    const stdout = await makeProject().must(...args)
    expect(stdout.slice(stdout.indexOf('\n\n') + 1)).toBe(SHOWN)
  },
)

test('--json has everything too', async () => {
  expect(await makeProject().json('view', '1')).toMatchObject({
    intro: 'Use port 8080, never 80.\n\n# Big heading\n\nImportant.',
    description: 'first',
    criteria: [
      { number: 1, isDone: false, text: 'one\nand it has to be fast' },
      { number: 2, isDone: true, text: 'two' },
      { number: 3, isDone: false, text: 'three' },
    ],
    checklist: SHOWN.slice(SHOWN.indexOf('All of'), SHOWN.indexOf('\n\n## Implementation Plan')),
    plan: 'the long plan',
    notes: 'n2',
    others: [
      { name: 'Plan', text: 'the short plan' },
      { name: 'Description', text: 'second description' },
      { name: 'Ask Bob first', text: '' },
      { name: 'Notes', text: 'n1' },
    ],
  })
})

test('a list of criteria alone is shown once', async () => {
  const project = new TaskProject()
  await project.must('create', 'A', '--ac', 'one')
  expect(await project.json('view', '1')).toMatchObject({ intro: '', checklist: '', others: [] })
})

test('a tick changes nothing around it', async () => {
  const project = makeProject()
  const before = project.read('TASK-001 - A.md')
  await project.must('edit', '1', '--check-ac', '1')
  expect(project.read('TASK-001 - A.md')).toBe(before.replace('[ ] #1', '[x] #1'))
})

test('a refusal names open criteria by line', async () => {
  const { stderr } = await makeProject().run(['edit', '1', '--status', 'done'])
  expect(stderr).toContain('\n    #1 one and it has to be fast\n    #3 three\n')
})

test('dependent tasks get the notes of both headings', async () => {
  const project = makeProject()
  await project.must('edit', '1', '--status', 'done', '--force')
  await project.must('create', 'B', '--depends-on', '1')
  expect(await project.must('next')).toContain('## Notes of TASK-001\n\nn1\n\nn2\n')
})
