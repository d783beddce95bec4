import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject, taskText } from '../support/forge-tasks.ts'
import { FORKHESTRA } from '../support/forkhestra.ts'

const say = (stdout: string) => ({ code: 0, stdout, stderr: '' })
const refuse = (code: number, stderr: string) => ({ code, stdout: '', stderr })

/** A finished base, a feature that waits for nothing more, a docs task that waits for the feature. */
async function makeShop(): Promise<TaskProject> {
  const project = new TaskProject()
  await project.must('create', 'Base', '-p', 'low', '-s', 'done')
  await project.must('edit', '1', '--notes', 'The port is 8080.')
  const details = [
    '-d',
    'Why',
    '--plan',
    'How',
    '--ac',
    'one',
    '--ac',
    'two',
    '-l',
    'web',
    '-l',
    'x',
  ]
  const rest = ['-p', 'high', '-a', 'bob', '--due', '2099-12-01', '--depends-on', '1']
  await project.must('create', 'Feature', ...details, ...rest)
  await project.must('create', 'Docs', '--depends-on', 'task-2', '--parent', 'TASK-001')
  return project
}

const FEATURE = {
  id: 'TASK-002',
  title: 'Feature',
  status: 'To Do',
  priority: 'high',
  assignee: 'bob',
  labels: ['web', 'x'],
  dependencies: ['TASK-001'],
  parent: null,
  due: '2099-12-01',
  isOverdue: false,
  createdAt: '<time>',
  file: 'TASK-002 - Feature.md',
}

const FEATURE_BRIEF = `id: TASK-002
title: Feature
status: To Do
priority: high
assignee: bob
labels: web, x
dependencies: TASK-001 (Done)
blocks: TASK-003
due: 2099-12-01
created: <time>
changed: <time>
file: TASK-002 - Feature.md

## Description

Why

## Acceptance Criteria

- [ ] #1 one
- [ ] #2 two

## Implementation Plan

How

## Notes of TASK-001

The port is 8080.
`

describe('create', () => {
  test('writes a file with exactly what was given', async () => {
    const project = await makeShop()
    expect(project.names()).toEqual([
      'TASK-001 - Base.md',
      'TASK-002 - Feature.md',
      'TASK-003 - Docs.md',
    ])
    expect(project.read('TASK-002 - Feature.md')).toBe(`---
id: TASK-002
title: Feature
status: To Do
priority: high
assignee: bob
labels: [web, x]
dependencies: [TASK-001]
due: 2099-12-01
createdAt: <time>
---

## Description

Why

## Acceptance Criteria

<!-- AC:BEGIN -->
- [ ] #1 one
- [ ] #2 two
<!-- AC:END -->

## Implementation Plan

How

## Implementation Notes
`)
  })

  test('prints the id in three forms', async () => {
    const project = new TaskProject()
    expect(await project.run(['create', 'A'])).toEqual(say('Created TASK-001: A\n'))
    expect(await project.run(['create', 'B', '--plain'])).toEqual(say('TASK-002\n'))
    expect(await project.run(['create', 'C', '--json'])).toEqual(say('{"id":"TASK-003"}\n'))
  })

  test('uses the prefix and the defaults of the configuration', async () => {
    const config = { prefix: 'WEB', defaults: { priority: 'low', labels: ['new'] } }
    const project = new TaskProject({ 'config.json': JSON.stringify(config) })
    await project.must('create', 'A', '-l', 'x')
    expect(await project.must('list', '--plain')).toBe('WEB-001 | To Do | low | A\n')
    expect(await project.must('view', '1')).toContain('\nlabels: new, x\n')
  })

  test('never reuses an id, even after a deletion or of an archived task', async () => {
    const project = new TaskProject()
    await project.must('create', 'A')
    await project.must('delete', '1')
    expect(await project.must('create', 'B', '--plain')).toBe('TASK-002\n')
    await project.must('archive', '2', '--force')
    expect(await project.must('create', 'C', '--plain')).toBe('TASK-003\n')
  })

  test('never reuses an id from inside a misnamed file', async () => {
    const project = new TaskProject({ 'notes.md': taskText(['id: TASK-001', 'title: By hand']) })
    expect(await project.must('create', 'A', '--plain')).toBe('TASK-002\n')
  })

  test('accepts a title that begins with a dash after --', async () => {
    const project = new TaskProject()
    expect(await project.run(['create', '--plain', '--', '--force is ignored'])).toEqual(
      say('TASK-001\n'),
    )
  })

  test('refuses a new task that is done but has open criteria', async () => {
    const project = new TaskProject()
    const { code, stderr } = await project.run(['create', 'A', '--ac', 'x', '--status', 'done'])
    expect({ code, names: project.names() }).toEqual({ code: 1, names: [] })
    expect(stderr).toContain('cannot be created as Done')
  })

  test.each([
    [['create'], 2, 'The title is missing.'],
    [['create', 'two', 'words'], 2, "Unexpected argument 'words'."],
    [['create', 'A', '-p', 'hihg'], 2, "Unknown priority 'hihg' (did you mean 'high'?)"],
    [['create', 'A', '-s', 'doing'], 2, "Unknown status 'doing'"],
    [['create', 'A', '--depends-on', '7'], 1, 'No task TASK-007'],
    [['create', 'A', '--depends-on', '@b'], 1, "No task of this batch has the key 'b'."],
    [['create', 'A', '--parent', '7'], 1, 'No task TASK-007'],
    [['create', 'A', '--depends-on', '../x'], 2, "'../x' is not a task id."],
    [['create', 'A', '--labl', 'x'], 2, 'Unknown option --labl (did you mean --label?)'],
  ])('refuses %j with exit code %i', async (args, code, message) => {
    const project = new TaskProject()
    const finished = await project.run(args)
    expect({ ...finished, stderr: finished.stderr.startsWith(`forge-tasks: ${message}`) }).toEqual({
      code,
      stdout: '',
      stderr: true,
    })
    expect(project.names()).toEqual([])
  })
})

describe('create --batch', () => {
  const lines = (...tasks: object[]) => tasks.map((task) => JSON.stringify(task)).join('\n')

  test('creates all tasks, which may refer to each other in any direction', async () => {
    const project = new TaskProject()
    const all = { description: 'Why', ac: ['x'], labels: ['l'], priority: 'high', assignee: 'bob' }
    const stdin = lines(
      { title: 'B', dependsOn: ['@a'], parent: '@a' },
      { title: 'A', key: 'a', plan: 'How', due: '2099-12-01', status: 'blocked', ...all },
    )
    expect(await project.run(['create', '--batch', '--plain'], { stdin })).toEqual(
      say('TASK-001\nTASK-002\n'),
    )
    expect(await project.must('list', '--plain')).toBe(
      'TASK-002 | Blocked | high | A\nTASK-001 | To Do | - | B\n',
    )
    expect(await project.must('view', '1')).toContain(
      'dependencies: TASK-002 (Blocked)\nparent: TASK-002\n',
    )
    expect(await project.must('view', '2')).toContain(
      'assignee: bob\nlabels: l\nblocks: TASK-001\n',
    )
  })

  test('prints the ids as JSON and for people', async () => {
    const project = new TaskProject()
    const stdin = lines({ title: 'A' }, { title: 'B' })
    expect(await project.run(['create', '--batch', '--json'], { stdin })).toEqual(
      say('{"ids":["TASK-001","TASK-002"]}\n'),
    )
    expect(await project.run(['create', '--batch'], { stdin })).toEqual(
      say('Created TASK-003: A\nCreated TASK-004: B\n'),
    )
  })

  test.each([
    ['no JSON', '{"title":"A"}\n{title}', 2, 'stdin:2: not valid JSON.'],
    ['no object', '{"title":"A"}\n\n[1]', 2, 'stdin:3: not a JSON object.'],
    ['an unknown key', '{"title":"A","x":1}', 2, "stdin:1: unknown key 'x'."],
    ['no title', '{"title":"A"}\n{}', 2, 'stdin:2: the title is missing.'],
    ['an empty title', '{"title":"A"}\n{"title":" "}', 2, 'The title is empty.'],
    ['a wrong type', '{"title":"A","ac":"x"}', 2, "stdin:1: 'ac' must be a list of strings."],
    ['a missing key', '{"title":"A"}\n{"title":"B","dependsOn":["@c"]}', 1, "the key 'c'."],
    ['a key twice', '{"title":"A","key":"a"}\n{"title":"B","key":"a"}', 1, "Duplicate key 'a'."],
    ['a missing task', '{"title":"A"}\n{"title":"B","dependsOn":["9"]}', 1, 'No task TASK-009'],
    [
      'a circle',
      '{"title":"A","key":"a","dependsOn":["@b"]}\n{"title":"B","key":"b","dependsOn":["@a"]}',
      1,
      '@a -> @b -> @a',
    ],
    ['nothing', '\n', 2, 'stdin is empty.'],
    ['an array', '[\n{"title":"A"}\n]', 2, 'stdin is a JSON array.'],
    [
      'Done with open criteria',
      '{"title":"A"}\n{"title":"B","status":"done","ac":["x"]}',
      1,
      'stdin:2: A task with open acceptance criteria cannot be created as Done: B',
    ],
  ])('creates none of them for %s', async (_, stdin, code, message) => {
    const project = new TaskProject()
    const finished = await project.run(['create', '--batch'], { stdin })
    expect(finished.stderr).toContain(message)
    expect({ code: finished.code, stdout: finished.stdout, names: project.names() }).toEqual({
      code,
      stdout: '',
      names: [],
    })
  })
})

test('create --batch reports every mistake with its line', async () => {
  const project = new TaskProject()
  const stdin = [
    '{"title":"A","key":"a","priority":"urgent","ac":"x"}',
    '{title}',
    '{"title":"B","key":"a","dependsOn":["@z"],"due":"soon"}',
  ].join('\n')
  const { code, stderr } = await project.run(['create', '--batch'], { stdin })
  expect({ code, names: project.names() }).toEqual({ code: 2, names: [] })
  expect(stderr.match(/stdin:\d+: [^.]*/g)).toEqual([
    "stdin:1: 'ac' must be a list of strings",
    "stdin:1: Unknown priority 'urgent'",
    'stdin:2: not valid JSON',
    "stdin:3: 'soon' is not a date",
    "stdin:3: Duplicate key 'a'",
    "stdin:3: No task of this batch has the key 'z'",
  ])
  const { stdout } = await project.run(['create', '--batch', '--json'], { stdin })
  expect((JSON.parse(stdout) as { problems: unknown[] }).problems).toHaveLength(6)
})

describe('a text on stdin', () => {
  test('is the description, the plan or the notes', async () => {
    const project = new TaskProject()
    const stdin = 'One line\n\n$(and) "another"\n'
    const given = 'One line\n\n$(and) "another"'
    await project.run(['create', 'A', '-d', '-'], { stdin })
    await project.run(['edit', '1', '--plan', '-'], { stdin })
    await project.run(['edit', '1', '--append-notes', 'Before', '--append-notes', '-'], { stdin })
    expect(await project.json('view', '1')).toMatchObject({
      description: given,
      plan: given,
      notes: `Before\n\n${given}`,
    })
  })

  test.each([
    [['-d', '-', '--plan', '-'], 'text', 'Only one option can read from stdin.'],
    [['-d', '-'], '', 'stdin is empty.'],
  ])('is refused with %j', async (args, stdin, message) => {
    const project = new TaskProject()
    const { code, stderr } = await project.run(['create', 'A', ...args], { stdin })
    expect({ code, names: project.names() }).toEqual({ code: 2, names: [] })
    expect(stderr).toContain(message)
  })
})

test('ending the claim of another owner gives a warning', async () => {
  const project = new TaskProject()
  await project.must('create', 'A')
  await project.must('claim', '1', '--as', 'fast')
  expect((await project.run(['edit', '1', '--notes', 'x'])).stderr).toBe('')
  expect(await project.run(['edit', '1', '--status', 'done', '--as', 'zed'])).toEqual({
    code: 0,
    stdout: 'TASK-001 | Done | - | A\n',
    stderr:
      'forge-tasks: TASK-001 was held by fast since <time>, who may still be working on it.\n',
  })
  expect(await project.must('view', '1')).toContain(': done, by zed\n')
  await project.must('edit', '1', '--status', 'todo')
  await project.must('claim', '1', '--as', 'fast')
  expect(await project.run(['release', '1', '--as', 'zed'])).toEqual({
    code: 0,
    stdout: 'Released TASK-001\n',
    stderr:
      'forge-tasks: TASK-001 was held by fast since <time>, who may still be working on it.\n',
  })
  expect(await project.must('view', '1')).toContain(': released, by zed\n')
  await project.must('claim', '1', '--as', 'fast')
  expect((await project.run(['edit', '1', '-s', 'done', '--as', 'fast'])).stderr).toBe('')
})

describe('list', () => {
  test('is sorted by priority and age, in three forms', async () => {
    const project = await makeShop()
    expect(await project.run(['list'])).toEqual(
      say(
        'TASK-002  To Do  high  bob  Feature\nTASK-003  To Do             Docs\nTASK-001  Done   low        Base\n',
      ),
    )
    expect(await project.run(['ls', '--plain'])).toEqual(
      say(
        'TASK-002 | To Do | high | Feature\nTASK-003 | To Do | - | Docs\nTASK-001 | Done | low | Base\n',
      ),
    )
    const json = (await project.json('list')) as { tasks: unknown[]; broken: unknown[] }
    expect(json.tasks[0]).toEqual(FEATURE)
    expect({ count: json.tasks.length, broken: json.broken }).toEqual({ count: 3, broken: [] })
  })

  test('may be empty', async () => {
    const project = new TaskProject()
    expect(await project.run(['list'])).toEqual(say('No tasks.\n'))
    expect(await project.run(['list', '--plain'])).toEqual(say(''))
    expect(await project.run(['list', '--json'])).toEqual(say('{"tasks":[],"broken":[]}\n'))
  })

  test('distinguishes no tasks from no match', async () => {
    const project = new TaskProject()
    expect(await project.run(['list', '-s', 'done'])).toEqual(say('No tasks.\n'))
    await project.must('create', 'A')
    expect(await project.run(['list', '-s', 'in progress'])).toEqual(say('No task matches.\n'))
    expect(await project.run(['list', '-s', 'done', '--plain'])).toEqual(say(''))
    expect(await project.run(['list', '--archived'])).toEqual(say('No tasks.\n'))
  })

  test.each([
    [['-s', 'todo'], '2 3'],
    [['-s', 'TO DO', '-s', 'done'], '2 3 1'],
    [['-s', 'in-progress'], ''],
    [['-p', 'HIGH'], '2'],
    [['-a', 'bob'], '2'],
    [['-l', 'web'], '2'],
    [['-l', 'web', '-l', 'missing'], ''],
    [['--blocked-by', '2'], '3'],
    [['--blocked-by', 'task-1'], '2'],
    [['--limit', '2'], '2 3'],
    [['--limit', '0'], ''],
    [['--ready'], '2'],
  ])('with %j shows %s', async (options, expected) => {
    const project = await makeShop()
    const lines = (await project.must('list', '--plain', ...options)).trim().split('\n')
    expect(lines.map((line) => Number(line.slice(5, 8)) || '').join(' ')).toBe(expected)
  })

  test('with --explain keeps to --limit', async () => {
    const project = await makeShop()
    expect(await project.must('list', '--ready', '--explain', '--limit', '1')).toBe(
      'TASK-002 | To Do | high | Feature | ready\n',
    )
  })
})

describe('ready', () => {
  test('means To Do, every dependency done, and not claimed; --explain says why', async () => {
    const file = (number: number, ...lines: string[]) => ({
      [`TASK-00${number} - T.md`]: taskText([
        `id: TASK-00${number}`,
        'title: T',
        ...lines,
        `createdAt: 2026-01-0${number}T00:00:00.000Z`,
      ]),
    })
    const project = new TaskProject({
      ...file(1, 'status: Done'),
      ...file(2, 'dependencies: [TASK-001]'),
      ...file(3, 'dependencies: [TASK-002, TASK-001]'),
      ...file(4, 'status: In Progress'),
      ...file(5, 'status: Blocked'),
      ...file(6, 'dependencies: [TASK-099]'),
      ...file(7, 'dependencies: [task-8]'),
      'archive/TASK-008 - T.md': taskText(['id: TASK-008', 'title: T', 'status: Done']),
      ...file(9, 'priority: high', 'dependencies: [TASK-009]'),
    })
    expect(await project.run(['list', '--ready', '--explain'])).toEqual(
      say(
        [
          'TASK-009 | To Do | high | T | waits for TASK-009 (To Do)',
          'TASK-002 | To Do | - | T | ready',
          'TASK-003 | To Do | - | T | waits for TASK-002 (To Do)',
          'TASK-004 | In Progress | - | T | In Progress, but not claimed here: forge-tasks release TASK-004',
          'TASK-005 | Blocked | - | T | status is Blocked',
          'TASK-006 | To Do | - | T | waits for TASK-099 (missing)',
          'TASK-007 | To Do | - | T | ready',
          '',
        ].join('\n'),
      ),
    )
    expect(await project.must('list', '--ready', '--plain')).toBe(
      'TASK-002 | To Do | - | T\nTASK-007 | To Do | - | T\n',
    )
  })

  test('waits for an archived task that was not done', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': taskText(['id: TASK-001', 'status: Blocked']),
      'TASK-002 - B.md': taskText(['id: TASK-002', 'dependencies: [TASK-001]']),
    })
    expect(await project.must('list', '--ready', '--explain')).toBe(
      'TASK-002 | To Do | - | B | waits for TASK-001 (archived, Blocked): run "forge-tasks unarchive TASK-001" or "forge-tasks edit TASK-002 --remove-dep TASK-001"\n',
    )
  })

  test('is ordered by priority, then by what it unblocks, then by age', async () => {
    const project = new TaskProject()
    for (const title of ['Old', 'Young', 'Key']) await project.must('create', title)
    await project.must('create', 'High', '-p', 'high')
    await project.must('create', 'Waits', '--depends-on', '3')
    expect(await project.must('list', '--ready', '--plain')).toBe(
      'TASK-004 | To Do | high | High\nTASK-003 | To Do | - | Key\nTASK-001 | To Do | - | Old\nTASK-002 | To Do | - | Young\n',
    )
    expect(await project.must('next')).toStartWith('id: TASK-004\n')
  })

  test('leaves out tasks that another agent holds, and says who', async () => {
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001']) })
    await project.must('claim', '1', '--as', 'ann')
    project.write('TASK-001 - A.md', taskText(['id: TASK-001']))
    expect(await project.must('list', '--ready', '--explain')).toBe(
      'TASK-001 | To Do | - | A | claimed by ann\n',
    )
    expect((await project.run(['next', '--as', 'bob'])).code).toBe(1)
    expect((await project.run(['next', '--as', 'ann'])).code).toBe(0)
  })
})

describe('next, claim and release', () => {
  test('next shows the whole brief, in three forms', async () => {
    const project = await makeShop()
    expect(await project.run(['next'])).toEqual(say(FEATURE_BRIEF))
    expect(await project.run(['next', '--plain'])).toEqual(say(FEATURE_BRIEF))
    expect(await project.json('next')).toEqual({
      ...FEATURE,
      intro: '',
      description: 'Why',
      criteria: [
        { number: 1, isDone: false, text: 'one' },
        { number: 2, isDone: false, text: 'two' },
      ],
      plan: 'How',
      notes: '',
      checklist: '',
      others: [],
      dependencies: [{ id: 'TASK-001', status: 'Done', notes: 'The port is 8080.' }],
      blocks: ['TASK-003'],
      claim: null,
      attempts: [],
      changedAt: '<time>',
      path: '<root>/forge/tasks/TASK-002 - Feature.md',
      isArchived: false,
    })
  })

  test('next without a ready task says why on stderr, and nothing on stdout', async () => {
    const project = await makeShop()
    await project.must('edit', '2', '--status', 'blocked')
    const why =
      'No task is ready:\n  TASK-002: status is Blocked\n  TASK-003: waits for TASK-002 (Blocked)\n' +
      'Read its notes: forge-tasks view TASK-002; reopen it: forge-tasks edit TASK-002 --status todo\n'
    expect(await project.run(['next'])).toEqual(refuse(1, why))
    expect(await project.run(['next', '--claim'])).toEqual(refuse(1, why))
    expect(await new TaskProject().run(['next', '--plain'])).toEqual(refuse(1, 'No open tasks.\n'))
  })

  test('next without a ready task prints nothing on stdout with --json either', async () => {
    expect(await new TaskProject().run(['next', '--json'])).toEqual(refuse(1, 'No open tasks.\n'))
  })

  test('next --claim claims the task, and another claim gets exit code 3', async () => {
    const project = await makeShop()
    const brief = FEATURE_BRIEF.replace('To Do', 'In Progress')
      .replace('assignee: bob', 'assignee: ann')
      .replace('changed:', 'claimed: ann since <time>, until <time>\nchanged:')
    expect(await project.run(['next', '--claim', '--as', 'ann', '--lease', '1h30m'])).toEqual(
      say(brief),
    )
    expect(await project.run(['claim', '2', '--as', 'bob'])).toEqual(
      refuse(3, 'forge-tasks: TASK-002 is claimed by ann since <time>, until <time>.\n'),
    )
    expect((await project.run(['claim', '2', '--as', 'ann'])).code).toBe(0)
    expect((await project.run(['next', '--claim', '--as', 'bob'])).code).toBe(1)
  })

  test('claim refuses done and missing tasks and a bad lease', async () => {
    const project = await makeShop()
    expect(await project.run(['claim', '1'])).toEqual(
      refuse(
        1,
        'forge-tasks: TASK-001 is Done.\n  Reopen it first: forge-tasks edit TASK-001 --status todo\n',
      ),
    )
    expect((await project.run(['claim', '9'])).code).toBe(1)
    expect((await project.run(['claim'])).code).toBe(2)
    expect((await project.run(['claim', '1', '2'])).code).toBe(2)
    expect(await project.run(['claim', '2', '--lease', 'soon'])).toEqual(
      refuse(
        2,
        "forge-tasks: --lease is 'soon', expected a duration.\n  For example: 90s, 30m, 2h or 1h30m.\n",
      ),
    )
  })

  test('release frees a task and adds the attempt to its history', async () => {
    const project = await makeShop()
    await project.must('claim', '2', '--as', 'ann')
    expect(await project.run(['release', '2', '--as', 'ann'])).toEqual(say('Released TASK-002\n'))
    const view = await project.must('view', '2')
    expect(view).toContain('status: To Do\npriority: high\nlabels: web, x\n')
    expect(view).toContain('attempt: ann, <time> to <time>: released\n')
    expect(await project.json('release', '2')).toMatchObject({ id: 'TASK-002', status: 'To Do' })
  })

  test('next finds the task of an expired claim, with or without --claim', async () => {
    const project = new TaskProject()
    await project.must('create', 'A')
    await project.must('claim', '1', '--as', 'ann', '--lease', '1ms')
    expect((await project.run(['next', '--as', 'bob'])).code).toBe(0)
    expect(await project.must('next', '--claim', '--as', 'bob')).toContain(
      'An attempt by ann ended without a result: its lease expired\n',
    )
  })

  test('every command of the owner renews the claim', async () => {
    const project = new TaskProject()
    await project.must('create', 'A')
    await project.must('claim', '1', '--as', 'ann')
    const state = async () =>
      (await Bun.file(join(project.folder, '.local/state.json')).json()) as {
        claims: Record<string, { until: string }>
      }
    const before = (await state()).claims['TASK-001']!.until
    await project.must('edit', '1', '--append-notes', 'Still here', '--as', 'ann')
    expect((await state()).claims['TASK-001']!.until > before).toBe(true)
  })
})

describe('view', () => {
  test('shows everything, in three forms', async () => {
    const project = await makeShop()
    expect(await project.run(['view', '2'])).toEqual(say(FEATURE_BRIEF))
    expect(await project.run(['show', '2', '--plain'])).toEqual(say(FEATURE_BRIEF))
    expect(await project.json('view', '2')).toMatchObject({ id: 'TASK-002', description: 'Why' })
  })

  test.each(['2', '002', 'TASK-2', 'task-002', 'Task-0002', 'TASK-002'])(
    'finds the task as %s',
    async (word) => {
      const project = await makeShop()
      expect(await project.must('view', word)).toBe(FEATURE_BRIEF)
    },
  )

  test('an unknown id suggests similar ones', async () => {
    const project = await makeShop()
    expect(await project.run(['view', '4'])).toEqual(
      refuse(
        1,
        'forge-tasks: No task TASK-004.\n  Similar ids:\n    TASK-003  Docs\n    TASK-002  Feature\n    TASK-001  Base\n',
      ),
    )
    expect(await new TaskProject().run(['view', '4'])).toEqual(
      refuse(
        1,
        'forge-tasks: No task TASK-004.\n  There are no tasks yet; create one: forge-tasks create "Title"\n',
      ),
    )
  })

  test('shows sections that forge-tasks does not know, and archived tasks', async () => {
    const body = '## Risks\n\nMany.\n'
    const project = new TaskProject({ 'archive/TASK-001 - A.md': taskText(['id: TASK-001'], body) })
    expect(await project.must('view', '1')).toBe(
      [
        'id: TASK-001',
        'title: A',
        'status: To Do',
        'changed: <time>',
        'file: archive/TASK-001 - A.md',
        '',
        '## Risks',
        '',
        'Many.',
        '',
      ].join('\n'),
    )
  })

  test('errors are JSON with --json', async () => {
    const { code, stdout } = await new TaskProject().run(['view', '4', '--json'])
    expect({ code, json: JSON.parse(stdout) as unknown }).toEqual({
      code: 1,
      json: {
        ok: false,
        problems: [
          {
            message: 'No task TASK-004.',
            hint: 'There are no tasks yet; create one: forge-tasks create "Title"',
          },
        ],
      },
    })
  })
})

describe('edit', () => {
  test('takes several values in one option, wherever it takes one', async () => {
    const project = await makeShop()
    await project.must('edit', '2', '--label', 'a,b', '--ac', 'one, two', '--ac', 'three')
    expect(await project.must('list', '--label', 'a, b', '--plain')).toContain('TASK-002')
    expect(await project.must('list', '-s', 'done,todo', '--plain')).toContain('TASK-002')
    await project.must('edit', '2', '--remove-label', 'web,a,b', '--check-ac', '1,2')
    expect(await project.must('view', '2')).toContain('\nlabels: x\n')
    expect(project.read('TASK-002 - Feature.md').match(/^- \[x\]/gm)).toHaveLength(2)
  })

  test('warns if what it should remove is not there', async () => {
    const project = await makeShop()
    const args = ['edit', '1', '--remove-label', 'nope', '--remove-dep', '2']
    const { code, stderr } = await project.run(args)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "forge-tasks: TASK-001 has no label 'nope'\nforge-tasks: TASK-001 does not depend on TASK-002\n",
    })
  })

  test('warns if it adds work to a task that is done', async () => {
    const project = await makeShop()
    await project.must('create', 'Open')
    await project.must('create', 'Over', '-s', 'done')
    const [open, over] = (await project.must('list', '--plain'))
      .split('\n')
      .filter((line) => /Open|Over/.test(line))
      .map((line) => line.split(' ')[0]!) as [string, string]
    const warning = `forge-tasks: ${over} is Done, so no agent will work on it; set it to To Do to reopen it\n`
    const edit = async (...args: string[]) => (await project.run(['edit', over, ...args])).stderr
    expect(await edit('--depends-on', open)).toBe(warning)
    expect(await edit('--ac', 'One more')).toBe(warning)
    expect(await edit('--check-ac', '1')).toBe('')
    expect(await edit('--uncheck-ac', '1')).toBe(warning)
    expect(await edit('--append-notes', 'x', '-l', 'y')).toBe('')
    expect(await edit('--ac', 'And more', '--status', 'todo')).toBe('')
  })

  test('changes everything at once, and keeps the name of the file', async () => {
    const project = await makeShop()
    const args = ['--title', 'Better', '-d', 'New why', '--status', 'in-progress', '-p', 'low']
    const lists = ['-a', 'ann', '-l', 'new', '--remove-label', 'x', '--remove-dep', '1']
    const marks = ['--ac', 'three', '--remove-ac', '1', '--check-ac', '#2', '--due', '2027-01-01']
    const texts = ['--plan', 'New how', '--notes', 'First', '--append-notes', 'Second']
    expect(
      await project.run(['edit', '2', ...args, ...lists, ...marks, ...texts, '--parent', '1']),
    ).toEqual(say('TASK-002 | In Progress | low | Better\n'))
    expect(project.read('TASK-002 - Feature.md')).toBe(`---
id: TASK-002
title: Better
status: In Progress
priority: low
assignee: ann
labels: [web, new]
dependencies: []
due: 2027-01-01
createdAt: <time>
parent: TASK-001
---

## Description

New why

## Acceptance Criteria

<!-- AC:BEGIN -->
- [x] #2 two
- [ ] #3 three
<!-- AC:END -->

## Implementation Plan

New how

## Implementation Notes

First

Second
`)
  })

  test('prints JSON, and takes several ids', async () => {
    const project = await makeShop()
    const json = (await project.json('edit', '2', '3', '--assignee', 'ann')) as { tasks: unknown[] }
    expect(json.tasks[0]).toEqual({ ...FEATURE, assignee: 'ann' })
    expect(await project.must('list', '-a', 'ann', '--plain')).toBe(
      'TASK-002 | To Do | high | Feature\nTASK-003 | To Do | - | Docs\n',
    )
  })

  test('removes single values', async () => {
    const project = await makeShop()
    await project.must('edit', '2', '-p', 'none', '-a', '', '--due', '')
    expect(await project.json('list', '-l', 'web')).toMatchObject({
      tasks: [{ priority: null, assignee: null, due: null }],
    })
  })

  test.each([
    'todo',
    'To Do',
    'TO-DO',
    'in-progress',
    'inprogress',
    'IN PROGRESS',
    'blocked',
    'Done',
  ])('accepts the status %s', async (word) => {
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001']) })
    const letters = (text: string) => text.toLowerCase().replaceAll(/[^a-z]/g, '')
    const line = await project.must('edit', '1', '--status', word)
    expect(letters(line.split(' | ')[1]!)).toBe(letters(word))
  })

  test('done with open criteria is refused, and they are listed', async () => {
    const project = await makeShop()
    const before = project.bytes('TASK-002 - Feature.md')
    expect(await project.run(['edit', '2', '--status', 'done', '--check-ac', '1'])).toEqual(
      refuse(
        1,
        'forge-tasks: TASK-002 has open acceptance criteria:\n    #2 two\n  Check them off with --check-ac N, or override with --force.\n',
      ),
    )
    expect(project.bytes('TASK-002 - Feature.md')).toEqual(before)
  })

  test.each([
    ['checked', ['--check-ac', '1', '--check-ac', '2'], 0],
    ['checked and removed', ['--check-ac', '1', '--remove-ac', '2'], 0],
    ['checked, and a new one', ['--check-ac', '1', '--check-ac', '2', '--ac', 'three'], 1],
    ['forced', ['--force'], 0],
  ])('done is judged after all changes of the call: %s', async (_, options, code) => {
    const project = await makeShop()
    expect((await project.run(['edit', '2', '--status', 'done', ...options])).code).toBe(code)
  })

  test('--force is noted', async () => {
    const project = await makeShop()
    await project.must('edit', '2', '--status', 'done', '--force')
    expect(project.read('TASK-002 - Feature.md')).toEndWith(
      '## Implementation Notes\n\nMarked done with open criteria: #1 one; #2 two\n',
    )
  })

  test('a dependency that closes a cycle is refused, and the cycle shown', async () => {
    const project = await makeShop()
    expect(await project.run(['edit', '1', '--depends-on', '3'])).toEqual(
      refuse(
        1,
        'forge-tasks: TASK-001 would depend on itself: TASK-001 -> TASK-003 -> TASK-002 -> TASK-001\n  Remove one of these dependencies first.\n',
      ),
    )
    expect(await project.run(['edit', '1', '--depends-on', '1'])).toEqual(
      refuse(
        1,
        'forge-tasks: TASK-001 would depend on itself: TASK-001 -> TASK-001\n  Remove one of these dependencies first.\n',
      ),
    )
    expect((await project.run(['edit', '1', '2', '--depends-on', '3'])).code).toBe(1)
  })

  test('a cycle that the same call removes is allowed', async () => {
    const project = await makeShop()
    const args = ['edit', '2', '--depends-on', '3', '--remove-dep', '1']
    expect((await project.run(args)).code).toBe(1)
    await project.must('edit', '3', '--remove-dep', '2')
    await project.must(...args)
    expect(await project.must('view', '2')).toContain('dependencies: TASK-003 (To Do)\n')
  })

  test.each([
    [['edit'], 2],
    [['edit', '9', '--title', 'x'], 1],
    [['edit', '2', '9', '--title', 'x'], 1],
    [['edit', '2', '--title', ' '], 2],
    [['edit', '2', '--status', 'doing'], 2],
    [['edit', '2', '--depends-on', '9'], 1],
    [['edit', '2', '--parent', '9'], 1],
    [['edit', '2', '--parent', '2'], 1],
    [['edit', '2', '--title', 'x', '--check-ac', '9'], 1],
    [['edit', '2', '--check-ac', 'one'], 2],
    [['edit', '2', '3', '--title', 'x', '--check-ac', '1'], 1],
    [['edit', '2', '--title', 'a', '--title', 'b'], 2],
  ])('%j changes nothing and ends with %i', async (args, code) => {
    const project = await makeShop()
    const before = project.names().map((name) => project.read(name))
    const finished = await project.run(args)
    expect({ code: finished.code, stdout: finished.stdout }).toEqual({ code, stdout: '' })
    expect(finished.stderr).toStartWith('forge-tasks: ')
    expect(project.names().map((name) => project.read(name))).toEqual(before)
  })

  test('updates updatedAt only if it exists', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'updatedAt: 2020-01-01T00:00:00.000Z']),
      'TASK-002 - B.md': taskText(['id: TASK-002']),
    })
    await project.must('edit', '1', '2', '-a', 'ann')
    expect(project.bytes('TASK-001 - A.md').toString()).not.toContain('2020-01-01')
    expect(project.read('TASK-001 - A.md')).toContain('updatedAt: <time>\n')
    expect(project.read('TASK-002 - B.md')).not.toContain('updatedAt')
  })

  test('criteria added to a list without comments do not hide those that were there', async () => {
    const body = '## Acceptance Criteria\n\n- [ ] one\n- [ ] two\n'
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001'], body) })
    await project.must('edit', '1', '--ac', 'three')
    expect(await project.must('view', '1')).toEndWith(
      '- [ ] #1 one\n- [ ] #2 two\n- [ ] #3 three\n',
    )
  })
})

describe('archive and delete', () => {
  test('archive moves files, which dependencies still find', async () => {
    const project = await makeShop()
    expect(await project.run(['archive', '--done'])).toEqual(say('Archived TASK-001\n'))
    expect(await project.run(['archive', '--done'])).toEqual(say('Nothing to archive.\n'))
    expect(existsSync(join(project.folder, 'archive/TASK-001 - Base.md'))).toBe(true)
    expect(await project.must('next')).toBe(FEATURE_BRIEF)
    expect(await project.json('archive', '2', '3', '--force')).toEqual({
      ids: ['TASK-002', 'TASK-003'],
    })
  })

  test('archive moves all tasks or none, and ignores a repeated id', async () => {
    const project = await makeShop()
    expect((await project.run(['archive', '2', '9', '--force'])).code).toBe(1)
    expect((await project.run(['archive'])).code).toBe(2)
    expect(project.names()).toHaveLength(3)
    expect(await project.run(['archive', '2', 'TASK-2', '--force'])).toEqual(
      say('Archived TASK-002\n'),
    )
  })

  test('archive reports a task that is already archived', async () => {
    const project = await makeShop()
    await project.must('archive', '2', '--force')
    expect(await project.run(['archive', '2'])).toEqual(say('Already archived: 2\n'))
  })

  test('archive moves no file over another one', async () => {
    const text = taskText(['id: TASK-001', 'title: A'], 'An older one.\n')
    const project = new TaskProject({
      'archive/TASK-001 - A.md': text,
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A']),
    })
    await project.run(['archive', '1'])
    expect(project.read('archive/TASK-001 - A.md')).toBe(text)
  })

  test('delete refuses what others depend on, unless it is forced', async () => {
    const project = await makeShop()
    expect(await project.run(['delete', '2'])).toEqual(
      refuse(
        1,
        'forge-tasks: TASK-003 depends on TASK-002.\n  Remove the dependency first, or use --force.\n',
      ),
    )
    expect(await project.run(['delete', '3'])).toEqual(say('Deleted TASK-003\n'))
    expect(await project.json('delete', '1', '--force')).toEqual({ id: 'TASK-001' })
    expect(project.names()).toEqual(['TASK-002 - Feature.md'])
    expect((await project.run(['delete', '3'])).code).toBe(1)
    expect((await project.run(['delete'])).code).toBe(2)
  })
})

describe('search and stats', () => {
  test('search finds all words in any case, in the order of list', async () => {
    const project = await makeShop()
    expect(await project.run(['search', 'WHY', 'how'])).toEqual(
      say('TASK-002  To Do  high  bob  Feature\n'),
    )
    expect(await project.run(['search', 'status', '--plain'])).toEqual(
      say(
        'TASK-002 | To Do | high | Feature\nTASK-003 | To Do | - | Docs\nTASK-001 | Done | low | Base\n',
      ),
    )
    expect(await project.json('search', 'why')).toEqual({ tasks: [FEATURE], broken: [] })
    expect(await project.run(['search', 'nowhere'])).toEqual(refuse(1, 'No matches.\n'))
    expect((await project.run(['search'])).code).toBe(2)
  })

  test('stats counts, in three forms', async () => {
    const project = await makeShop()
    const text = [
      'To Do: 2',
      'In Progress: 0',
      'Blocked: 0',
      'Done: 1',
      'Ready: 1',
      'Open, priority high: 1',
      'Open, priority medium: 0',
      'Open, priority low: 0',
      'Open, priority none: 1',
      'Total: 3',
      '',
    ].join('\n')
    expect(await project.run(['stats'])).toEqual(say(text))
    expect(await project.run(['stats', '--plain'])).toEqual(say(text))
    expect(await project.json('stats')).toEqual({
      total: 3,
      ready: 1,
      byStatus: { 'To Do': 2, 'In Progress': 0, Blocked: 0, Done: 1 },
      openByPriority: { high: 1, medium: 0, low: 0, none: 1 },
      broken: [],
    })
  })
})

describe('doctor', () => {
  const OLD = 'createdAt: 2026-01-01T00:00:00.000Z'
  const YOUNG = 'createdAt: 2026-02-01T00:00:00.000Z'

  test('finds nothing wrong with what forge-tasks wrote', async () => {
    const project = await makeShop()
    expect(await project.run(['doctor'])).toEqual(say('No problems found.\n'))
    expect(await project.json('doctor', '--fix')).toEqual({ findings: [] })
  })

  test('reports with exit code 1, and finds nothing after --fix', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', OLD]),
      'TASK-001 - B.md': taskText(['id: TASK-001', 'title: B', YOUNG]),
      'wrong.md': taskText(['id: TASK-003', 'title: C', 'dependencies: [TASK-077]']),
      '.unfinished-abc-x': 'half',
    })
    const found = await project.run(['doctor'])
    expect({ ...found, stdout: found.stdout.split('\n').toSorted() }).toEqual({
      code: 1,
      stdout: [
        '',
        '.unfinished-abc-x: is left over from an interrupted write',
        'TASK-001 - B.md:1: has the same id TASK-001 as "TASK-001 - A.md"; run: forge-tasks doctor --fix',
        'wrong.md: depends on TASK-077, which does not exist',
        'wrong.md: the file name does not begin with the id TASK-003',
      ],
      stderr: '4 found. To fix what can be fixed automatically: forge-tasks doctor --fix\n',
    })
    expect(await project.run(['doctor', '--fix'])).toEqual({
      ...say(
        [
          'TASK-001 - B.md: has the same id TASK-001 as "TASK-001 - A.md" -> renumbered to TASK-004',
          'wrong.md: the file name does not begin with the id TASK-003 -> renamed to "TASK-003 - C.md"',
          'TASK-003 - C.md: depends on TASK-077, which does not exist -> removed the reference and added a note',
          '.unfinished-abc-x: is left over from an interrupted write -> deleted',
          '',
        ].join('\n'),
      ),
      stderr: '4 fixed, 0 left.\n',
    })
    expect(await project.run(['doctor'])).toEqual(say('No problems found.\n'))
    expect(project.names()).toEqual(['TASK-001 - A.md', 'TASK-003 - C.md', 'TASK-004 - B.md'])
  })

  test('removes all dangling dependencies of one task', async () => {
    const lines = ['id: TASK-001', 'title: A', 'dependencies: [TASK-077, TASK-078]']
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(lines) })
    await project.must('doctor', '--fix')
    expect(await project.run(['doctor'])).toEqual(say('No problems found.\n'))
  })

  test('does not give a duplicate an id from the archive', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', OLD]),
      'TASK-001 - B.md': taskText(['id: TASK-001', 'title: B', YOUNG]),
      'archive/TASK-002 - C.md': taskText(['id: TASK-002', 'title: C', 'status: Done']),
    })
    await project.must('doctor', '--fix')
    expect(project.names()).toEqual(['TASK-001 - A.md', 'TASK-003 - B.md'])
  })

  test('does not rename a file over another one', async () => {
    const broken = '<<<<<<< ours\nprecious\n=======\n>>>>>>> theirs\n'
    const project = new TaskProject({
      'TASK-001 - A.md': broken,
      'copy.md': taskText(['id: TASK-001', 'title: A']),
    })
    await project.run(['doctor', '--fix'])
    const all = project.names().map((name) => project.read(name))
    expect(all.filter((text) => text === broken)).toHaveLength(1)
  })

  test('reports cycles and broken files', async () => {
    const project = circle({ 'TASK-003 - C.md': 'no frontmatter' })
    expect(await project.run(['doctor'])).toEqual({
      code: 1,
      stdout:
        'TASK-003 - C.md:1: no frontmatter: the first line must be ---\n' +
        'TASK-002 - B.md: depends on itself: TASK-002 -> TASK-001 -> TASK-002\n',
      stderr: '2 found. To fix what can be fixed automatically: forge-tasks doctor --fix\n',
    })
  })

  test('shortens long cycles, of which there may be many', async () => {
    const id = (index: number) => `TASK-${String(index).padStart(3, '0')}`
    const files = Array.from({ length: 100 }, (_, index) => {
      const text = taskText([`id: ${id(index)}`, `dependencies: [TASK-000, ${id(index + 1)}]`])
      return [`${id(index)} - A.md`, text] as const
    })
    const project = new TaskProject(Object.fromEntries(files))
    const { stdout } = await project.run(['doctor'])
    const lines = stdout.trim().split('\n')
    expect(lines.length).toBe(101)
    for (const line of lines) expect(line.length).toBeLessThan(350)
    expect(lines.at(-1)).toMatch(/TASK-099 -> TASK-000 -> .* -> \(81 more\) -> .* -> TASK-099$/)
  })

  test('breaks a cycle at the younger task and adds a note', async () => {
    const project = circle()
    expect(await project.must('doctor', '--fix')).toBe(
      'TASK-002 - B.md: depends on itself: TASK-002 -> TASK-001 -> TASK-002 -> removed the dependency on TASK-001 and added a note\n',
    )
    expect(project.read('TASK-002 - B.md')).toContain(
      'Removed the dependency on TASK-001: the task depends on itself: TASK-002 -> TASK-001 -> TASK-002.',
    )
    expect(await project.must('list', '--ready', '--plain')).toBe('TASK-002 | To Do | - | B\n')
  })

  test('keeps references to a task whose file is broken', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'dependencies: [TASK-002]']),
      'TASK-002 - B.md': 'no frontmatter',
    })
    await project.run(['doctor', '--fix'])
    expect(project.read('TASK-001 - A.md')).toContain('dependencies: [TASK-002]')
    expect(await project.must('list', '--ready', '--explain')).toBe(
      'TASK-001 | To Do | - | A | waits for TASK-002 (unreadable)\n',
    )
  })

  test('finds a duplicate id in the archive', async () => {
    const project = new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'title: A', YOUNG]),
      'archive/TASK-001 - Old.md': taskText(['id: TASK-001', 'title: Old', 'status: Done', OLD]),
    })
    const problem = 'TASK-001 - A.md: has the same id TASK-001 as "archive/TASK-001 - Old.md"'
    expect(await project.run(['doctor'])).toMatchObject({ code: 1, stdout: `${problem}\n` })
    expect(await project.must('doctor', '--fix')).toBe(`${problem} -> renumbered to TASK-002\n`)
    expect(project.names()).toEqual(['TASK-002 - A.md'])
  })

  test('lists fixed and remaining problems separately, each with its line', async () => {
    const undecided = taskText([
      'id: TASK-001',
      '<<<<<<< ours',
      'title: One',
      '=======',
      'title: Two',
      '>>>>>>> theirs',
    ])
    const project = new TaskProject({
      'TASK-001 - A.md': undecided,
      'TASK-002 - B.md': taskText(['id: TASK-002', 'dependencies: [TASK-077]']),
    })
    const why =
      'unresolved merge conflict; the two sides contradict each other: edit the file and remove the conflict markers'
    const gone = 'depends on TASK-077, which does not exist'
    expect(await project.run(['doctor', '--fix'])).toEqual({
      code: 1,
      stdout: [
        'Fixed:',
        `TASK-002 - B.md: ${gone} -> removed the reference and added a note`,
        'Not fixed:',
        `TASK-001 - A.md:3: ${why}`,
        '',
      ].join('\n'),
      stderr: '1 fixed, 1 left.\n',
    })
    const { stdout } = await project.run(['doctor', '--json'])
    const finding = { file: 'TASK-001 - A.md', line: 3, problem: why }
    expect(JSON.parse(stdout)).toEqual({ findings: [finding] })
    expect((await project.run(['doctor', '--plain'])).stdout).toBe(`TASK-001 - A.md:3: ${why}\n`)
  })

  test('says that it can fix a conflict', async () => {
    const notes = '## Notes\n\n<<<<<<< ours\nOf one\n=======\nOf two\n>>>>>>> theirs\n'
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(['id: TASK-001'], notes) })
    expect((await project.run(['doctor'])).stdout).toContain(
      '; edit the file, or run: forge-tasks doctor --fix\n',
    )
    expect(await project.must('doctor', '--fix')).toEndWith(' -> merged both sides\n')
  })

  test('adds one note for a reference that was both dependency and parent', async () => {
    const lines = ['id: TASK-001', 'dependencies: [TASK-077]', 'parent: TASK-077']
    const project = new TaskProject({ 'TASK-001 - A.md': taskText(lines) })
    await project.must('doctor', '--fix')
    expect(
      project.read('TASK-001 - A.md').match(/Removed the reference to TASK-077/g),
    ).toHaveLength(1)
  })

  test('reports unknown keys of the configuration', async () => {
    const project = new TaskProject({ 'config.json': '{"prefx":"WEB","defaults":{"labl":[]}}' })
    const known = 'known keys: prefix, name, defaults (priority, labels)'
    expect(await project.run(['doctor', '--plain'])).toEqual({
      code: 1,
      stdout: ['prefx', 'defaults.labl']
        .map((key) => `config.json: unknown key "${key}"; ${known}\n`)
        .join(''),
      stderr: '',
    })
  })

  test('breaks a cycle of ten thousand tasks', async () => {
    const files = Array.from({ length: 10_000 }, (_, index) => {
      const id = `TASK-${String(index + 1).padStart(3, '0')}`
      const next = `TASK-${String(((index + 1) % 10_000) + 1).padStart(3, '0')}`
      return [`${id}.md`, taskText([`id: ${id}`, `dependencies: [${next}]`])] as const
    })
    const project = new TaskProject(Object.fromEntries(files))
    expect((await project.run(['doctor', '--fix'])).code).toBe(0)
    expect(await project.must('doctor')).toBe('No problems found.\n')
  }, 180_000)

  function circle(more: Readonly<Record<string, string>> = {}): TaskProject {
    return new TaskProject({
      'TASK-001 - A.md': taskText(['id: TASK-001', 'dependencies: [TASK-002]']),
      'TASK-002 - B.md': taskText(['id: TASK-002', 'dependencies: [TASK-001]']),
      ...more,
    })
  }
})

describe('init and help', () => {
  test('init writes the configuration once', async () => {
    const project = new TaskProject()
    expect(await project.run(['init', '--prefix', 'web', '--name', 'The shop'])).toEqual(
      say('Wrote <root>/forge/tasks/config.json\n'),
    )
    const text = '{\n  "prefix": "WEB",\n  "name": "The shop",\n  "defaults": {}\n}\n'
    expect(project.read('config.json')).toBe(text)
    const there = '<root>/forge/tasks/config.json already exists; nothing was changed.\n'
    expect(await project.run(['init', '--prefix', 'web'])).toEqual(say(there))
    expect(await project.run(['init', '--prefix', 'other'])).toEqual(
      refuse(1, `forge-tasks: ${there}  Edit it yourself: "prefix": "OTHER"\n`),
    )
    expect(project.read('config.json')).toBe(text)
    expect(await project.must('create', 'A', '--plain')).toBe('WEB-001\n')
  })

  test('init --json prints JSON', async () => {
    const { code, stdout } = await new TaskProject().run(['init', '--json'])
    expect(code).toBe(0)
    expect(() => JSON.parse(stdout) as unknown).not.toThrow()
  })

  test('init refuses a prefix that cannot be read back', async () => {
    const project = new TaskProject()
    for (const prefix of ['a-b', '../x', '1', '', 'A'.repeat(21)]) {
      expect((await project.run(['init', `--prefix=${prefix}`])).code).toBe(2)
    }
    expect(existsSync(join(project.folder, 'config.json'))).toBe(false)
  })

  const COMMANDS =
    'init create list next claim release view edit archive delete search stats doctor'
  test.each(COMMANDS.split(' '))('%s has a help of its own', async (command) => {
    const { code, stdout } = await new TaskProject().run([command, '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain(`\nUsage:\n  forge-tasks ${command}`)
  })

  test('help is a command as well', async () => {
    const project = new TaskProject()
    expect(await project.must('help')).toBe(await project.must('--help'))
    expect(await project.must('help', 'edit')).toBe(await project.must('edit', '--help'))
  })

  test('help names the program that was called', async () => {
    expect(await new TaskProject().must('list', '--help')).not.toContain('forkhestra --help')
  })

  test('shows help, and reports unknown commands', async () => {
    const project = new TaskProject()
    const help = await project.must('--help')
    for (const command of COMMANDS.split(' ')) expect(help).toContain(`\n  ${command} `)
    expect((await project.run([])).code).toBe(2)
    expect(await project.run(['lst'])).toEqual(
      refuse(2, "forge-tasks: Unknown command 'lst'.\n  Did you mean: forge-tasks list\n"),
    )
  })

  test('--cwd selects the project', async () => {
    const project = await makeShop()
    const cwd = join(project.folder, '../..')
    expect(await project.must('view', '2', '--cwd', cwd)).toBe(FEATURE_BRIEF)
    const below = await project.run(['view', '2', '--cwd', project.folder])
    expect(below.code).toBe(1)
  })

  test('is also `forkhestra tasks`', async () => {
    const project = await makeShop()
    const program = [FORKHESTRA, 'tasks']
    expect(await project.run(['view', '2'], { program })).toEqual(say(FEATURE_BRIEF))
    expect((await project.run(['view', '9'], { program })).code).toBe(1)
    expect((await project.run(['view'], { program })).code).toBe(2)
  })
})
