import { describe, expect, test } from 'bun:test'
import { copyFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../support/project.ts'
import { FORGE_TASKS, TaskProject, taskText } from '../support/forge-tasks.ts'
import {
  addWorktrees,
  fieldOf,
  forgeTasks,
  git,
  makeClone,
  mustTasks,
  readTaskFiles,
  startRun,
  until,
} from '../support/tasks-stress.ts'

/** A program in its own PID namespace, as in a container. */
const IN_OTHER_NAMESPACE = ['unshare', '-rpf', '--mount-proc', FORGE_TASKS]

describe('a claim whose worktree is gone', () => {
  test('is not set back to To Do in the enclosing project', async () => {
    const root = await makeClone(['The one'])
    const around = makeProject({
      'forge/tasks/TASK-001 - Theirs.md': taskText(['id: TASK-001', 'status: In Progress']),
    })
    const theirs = join(around, 'forge/tasks/TASK-001 - Theirs.md')
    const before = readFileSync(theirs, 'utf8')
    const worktree = join(around, 'w2')
    await git(root, 'worktree', 'add', '-q', '-b', 'w2', worktree)
    await claimAndDie(worktree, 'run-1')
    await git(root, 'worktree', 'remove', '--force', worktree)
    const brief = await mustTasks(root, ['next', '--claim', '--as', 'heir'])
    expect(fieldOf(brief, 'id')).toBe('TASK-001')
    expect(readFileSync(theirs, 'utf8')).toBe(before)
  })

  test('is not released in the enclosing project', async () => {
    const root = await makeClone(['The one'])
    const around = makeProject({
      'forge/tasks/TASK-001 - Theirs.md': taskText(['id: TASK-001', 'status: In Progress']),
    })
    const worktree = join(around, 'w2')
    await git(root, 'worktree', 'add', '-q', '-b', 'w2', worktree)
    await mustTasks(worktree, ['claim', '1', '--as', 'a'])
    await git(root, 'worktree', 'remove', '--force', worktree)
    await mustTasks(root, ['release', '1'])
    const theirs = readFileSync(join(around, 'forge/tasks/TASK-001 - Theirs.md'), 'utf8')
    expect(theirs).toContain('status: In Progress')
  })

  test('counts as a failure: the third one blocks the task', async () => {
    const root = await makeClone(['The one'])
    for (const name of ['run-1', 'run-2', 'run-3']) {
      const [worktree] = (await addWorktrees(root, 1)) as [string]
      await claimAndDie(worktree, name)
      await git(root, 'worktree', 'remove', '--force', worktree)
      await git(root, 'branch', '-q', '-D', 'w2')
      await forgeTasks(root, ['next'])
    }
    const [task] = readTaskFiles(root)
    expect(task!.status).toBe('Blocked')
    expect(task!.text).toContain('An attempt by builder ended without a result: run run-1 is gone')
    expect(task!.text).toContain('\nBlocked after 3 attempts: ')
  })

  test('ends as done if the task is done by then', async () => {
    const root = await makeClone(['The one'])
    const [worktree] = (await addWorktrees(root, 1)) as [string]
    await claimAndDie(worktree, 'run-1')
    await git(root, 'worktree', 'remove', '--force', worktree)
    replaceIn(join(root, 'forge/tasks/TASK-001 - The one.md'), 'status: To Do', 'status: Done')
    await forgeTasks(root, ['next'])
    const [task] = readTaskFiles(root)
    expect(task!.status).toBe('Done')
    expect(fieldOf(await mustTasks(root, ['view', '1']), 'attempt')).toEndWith(': done')
  })
})

test('three failures after a person reopened a blocked task block it again', async () => {
  const root = await makeClone(['The one'])
  const failThrice = async () => {
    for (const name of ['run-1', 'run-2', 'run-3']) await claimAndDie(root, name)
    await forgeTasks(root, ['next'])
  }
  await failThrice()
  await mustTasks(root, ['edit', '1', '--status', 'todo'])
  await failThrice()
  const [task] = readTaskFiles(root)
  expect(task!.status).toBe('Blocked')
  expect(task!.text.match(/Blocked after 3 attempts/g)).toHaveLength(2)
})

test('one failure after a person reopened a blocked task does not block it', async () => {
  const root = await makeClone(['The one'])
  for (const name of ['run-1', 'run-2', 'run-3']) await claimAndDie(root, name)
  await forgeTasks(root, ['next'])
  await mustTasks(root, ['edit', '1', '--status', 'todo'])
  await claimAndDie(root, 'run-4')
  await forgeTasks(root, ['next'])
  expect(readTaskFiles(root)[0]!.status).toBe('To Do')
})

test('a task whose file is broken is freed once the file is fixed', async () => {
  const root = await makeClone(['The one'])
  const path = join(root, 'forge/tasks/TASK-001 - The one.md')
  await claimAndDie(root, 'run-1')
  const whole = readFileSync(path, 'utf8')
  writeFileSync(path, 'x')
  expect(await forgeTasks(root, ['next'])).toMatchObject({ code: 1 })
  writeFileSync(path, whole)
  const brief = await mustTasks(root, ['next', '--claim', '--as', 'heir'])
  expect(fieldOf(brief, 'attempt')).toEndWith('failed, run run-1 is gone')
})

test('a claim on a deleted task ends and blocks nothing', async () => {
  const root = await makeClone(['The one', 'The other'])
  await claimAndDie(root, 'run-1')
  const path = join(root, 'forge/tasks/TASK-001 - The one.md')
  renameSync(path, join(root, 'elsewhere'))
  expect(fieldOf(await mustTasks(root, ['next']), 'id')).toBe('TASK-002')
  expect(stateOf(root).claims).toEqual({})
})

describe('a second file with the id of a task', () => {
  const SECOND = 'TASK-001 - Copy.md'

  test.each([
    ['that is sound', undefined],
    ['that is broken', 'garbage'],
  ])('%s does not stop any command', async (_, content) => {
    for (const args of [
      ['next', '--claim'],
      ['claim', '1'],
      ['edit', '1', '--notes', 'x'],
      ['view', '1'],
    ]) {
      const project = new TaskProject()
      await project.must('create', 'One')
      const path = join(project.folder, SECOND)
      if (content === undefined) copyFileSync(join(project.folder, 'TASK-001 - One.md'), path)
      else writeFileSync(path, content)
      const { code, stderr } = await project.run(args)
      expect({ args, code, stderr }).toMatchObject({ args, code: 0 })
    }
  })

  test('is not changed: the listed one is', async () => {
    const older = taskText(['id: TASK-001', 'title: Old', 'createdAt: 2026-01-01T00:00:00.000Z'])
    const younger = older.replace('Old', 'Young').replace('2026', '2027')
    const project = new TaskProject({ 'TASK-001 - B.md': older, 'TASK-001 - A.md': younger })
    await project.must('edit', '1', '--priority', 'high')
    expect(await project.must('list', '--plain')).toBe('TASK-001 | To Do | high | Old\n')
    expect(project.bytes('TASK-001 - A.md').toString()).toBe(younger)
  })

  test('is reported if all of them are broken', async () => {
    const project = new TaskProject({ [SECOND]: 'garbage' })
    const { code, stderr } = await project.run(['edit', '1', '--notes', 'x'])
    expect(code).toBe(1)
    expect(stderr).toContain(`${SECOND}:1: `)
  })
})

describe('a file that cannot be edited', () => {
  const FLOW = '---\n{id: TASK-001, title: x, status: To Do}\n---\n'
  const ALIAS = '---\nid: TASK-001\ntitle: x\nstatus: &now To Do\nother: *now\n---\n'

  test('is reported, and the next ready task is claimed', async () => {
    for (const text of [FLOW, ALIAS]) {
      const project = new TaskProject({ 'TASK-001 - x.md': text })
      await project.must('create', 'Two', '--plain')
      const { code, stdout, stderr } = await project.run(['next', '--claim'])
      expect(code).toBe(0)
      expect(fieldOf(stdout, 'id')).toBe('TASK-002')
      expect(stderr).toStartWith('forge-tasks: TASK-001 - x.md:')
    }
  })

  test('is reported with exit code 1 if nothing else is ready', async () => {
    for (const text of [FLOW, ALIAS]) {
      const project = new TaskProject({ 'TASK-001 - x.md': text })
      const { code, stdout, stderr } = await project.run(['next', '--claim'])
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toContain('TASK-001 - x.md:')
    }
  })

  test('cannot be claimed: exit code 1', async () => {
    for (const text of [FLOW, ALIAS]) {
      const project = new TaskProject({ 'TASK-001 - x.md': text })
      for (const args of [
        ['claim', '1'],
        ['edit', '1', '--status', 'done'],
      ]) {
        expect(await project.run(args)).toMatchObject({ code: 1, stdout: '' })
      }
      expect(project.bytes('TASK-001 - x.md').toString()).toBe(text)
    }
  })

  test('is reported by the doctor', async () => {
    const project = new TaskProject({ 'TASK-001 - x.md': FLOW })
    const { code, stdout } = await project.run(['doctor'])
    expect(code).toBe(1)
    expect(stdout).toStartWith('TASK-001 - x.md:2: ')
  })

  test('does not keep others from their dead claims', async () => {
    for (const text of [FLOW, ALIAS]) {
      const root = await makeClone(['The one', 'The other', 'The third'])
      await claimAndDie(root, 'run-1')
      await claimAndDie(root, 'run-2', '2')
      const path = join(root, 'forge/tasks/TASK-001 - The one.md')
      writeFileSync(path, text.replace('To Do', 'In Progress'))
      const brief = await mustTasks(root, ['next', '--claim', '--as', 'heir'])
      expect(fieldOf(brief, 'id')).toBe('TASK-002')
    }
  })
})

describe('a claim of a run in another PID namespace', () => {
  test('does not count as dead', async () => {
    const root = await makeClone(['The one'])
    const run = startRun('run-1')
    await mustTasks(root, ['next', '--claim'], { env: run.env(1) })
    const foreign = await inOtherNamespace(root, ['next', '--claim', '--as', 'heir'])
    expect(foreign).toMatchObject({ code: 1, stdout: '' })
    expect(readTaskFiles(root)[0]!.status).toBe('In Progress')
    await run.kill()
  })

  test('ends when its lease expires', async () => {
    const root = await makeClone(['The one'])
    const run = startRun('run-1')
    await mustTasks(root, ['next', '--claim', '--lease', '1s'], { env: run.env(1) })
    await run.kill()
    const brief = await until(async () => {
      const { code, stdout } = await inOtherNamespace(root, ['next', '--claim', '--as', 'heir'])
      return code === 0 ? stdout : undefined
    })
    expect(fieldOf(brief, 'attempt')).toEndWith('failed, its lease expired')
  })

  test('lasts as long as its process lives, if that can be checked', async () => {
    const root = await makeClone(['The one'])
    const run = startRun('run-1')
    await mustTasks(root, ['next', '--claim', '--lease', '1ms'], { env: run.env(1) })
    const { code } = await forgeTasks(root, ['next', '--claim', '--as', 'heir'])
    expect(code).toBe(1)
    await run.kill()
  })
})

describe('a broken config.json', () => {
  test.each([
    ['{', 'is not valid JSON'],
    ['{"prefix":"1x"}', 'has "prefix": "1x", expected letters, digits and _ such as "TASK"'],
  ])('%s is reported by the doctor, and only bare numbers need it', async (content, problem) => {
    const project = new TaskProject()
    await project.must('create', 'One')
    project.write('config.json', content)
    expect(await project.run(['doctor'])).toMatchObject({
      code: 1,
      stdout: `config.json: ${problem}\n`,
    })
    for (const args of [
      ['claim', 'TASK-001'],
      ['edit', 'TASK-001', '--notes', 'x'],
      ['view', 'task-1'],
      ['list', '--blocked-by', 'TASK-001'],
      ['release', 'TASK-001'],
      ['next', '--claim'],
      ['archive', 'TASK-001', '--force'],
      ['delete', 'TASK-001'],
    ]) {
      expect({ args, ...(await project.run(args)) }).toMatchObject({ args, code: 0, stderr: '' })
    }
    expect(await project.run(['view', '1'])).toMatchObject({
      code: 2,
      stderr: `forge-tasks: <root>/forge/tasks/config.json ${problem}.\n  Fix or delete it.\n`,
    })
  })
})

describe('delete and archive', () => {
  test('a parent is not deleted', async () => {
    const project = new TaskProject()
    await project.must('create', 'Whole')
    await project.must('create', 'Part', '--parent', '1')
    expect(await project.run(['delete', '1'])).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'forge-tasks: TASK-001 is the parent of TASK-002.\n  Change their parent first, or use --force.\n',
    })
    await project.must('delete', '1', '--force')
    expect(project.names()).toEqual(['TASK-002 - Part.md'])
  })

  test('a task that another owner holds is not archived', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('create', 'Two')
    await project.must('claim', '2', '--as', 'a')
    const { code, stderr } = await project.run(['archive', '1', '2', '--as', 'b', '--force'])
    expect({ code, stderr }).toEqual({
      code: 3,
      stderr: 'forge-tasks: TASK-002 is claimed by a since <time>, until <time>.\n',
    })
    expect(project.names()).toEqual(['TASK-001 - One.md', 'TASK-002 - Two.md'])
  })

  test('a task that another owner holds is not deleted, in any worktree', async () => {
    const root = await makeClone(['One'])
    const [second] = (await addWorktrees(root, 1)) as [string]
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    for (const cwd of [root, second]) {
      const { code, stderr } = await forgeTasks(cwd, ['delete', '1', '--force', '--as', 'b'])
      expect(code).toBe(3)
      expect(stderr).toStartWith('forge-tasks: TASK-001 is claimed by a ')
      expect(readTaskFiles(cwd)).toHaveLength(1)
    }
    expect(await mustTasks(root, ['delete', '1', '--as', 'a'])).toBe('Deleted TASK-001')
  })

  test('a task deleted in one worktree keeps its history for the others', async () => {
    const root = await makeClone(['One', 'Two'])
    const [second, third] = (await addWorktrees(root, 2)) as [string, string]
    await mustTasks(second, ['claim', '1', '--as', 'a'])
    await mustTasks(second, ['delete', '1', '--as', 'a'])
    const attempt = fieldOf(await mustTasks(root, ['view', '1']), 'attempt')
    expect(attempt).toMatch(/^a, .*: released$/)
    await mustTasks(second, ['edit', '2', '--status', 'done', '--as', 'a'])
    await mustTasks(third, ['delete', '2', '--as', 'b'])
    expect(await forgeTasks(root, ['claim', '2', '--as', 'b'])).toMatchObject({ code: 3 })
  })

  test('archiving the task of a dead owner is recorded in its history', async () => {
    const root = await makeClone(['One'])
    await claimAndDie(root, 'run-1')
    await mustTasks(root, ['archive', '1', '--as', 'b', '--force'])
    expect(fieldOf(await mustTasks(root, ['view', '1']), 'attempt')).toEndWith(': released, by b')
  })

  test('--done leaves out done tasks that another owner still holds', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    await project.must('create', 'Two')
    await project.must('edit', '1', '--status', 'done')
    await project.must('claim', '2', '--as', 'a')
    replaceIn(join(project.folder, 'TASK-002 - Two.md'), 'In Progress', 'Done')
    expect(await project.must('archive', '--done', '--as', 'b')).toBe('Archived TASK-001\n')
  })

  test('archiving ends the claim of the caller', async () => {
    const root = await makeClone(['One'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await mustTasks(root, ['archive', '1', '--as', 'a', '--force'])
    expect(stateOf(root).claims).toEqual({})
  })

  test('the doctor distinguishes an open task from its archived copy', async () => {
    const project = new TaskProject()
    await project.must('create', 'One')
    const [open, archived] = ['TASK-001 - One.md', 'archive/TASK-001 - One.md']
    copyFileSync(join(project.folder, open), join(project.folder, archived))
    const { stdout } = await project.run(['doctor'])
    expect(stdout).toBe(`${archived}: is identical to the open task "${open}"\n`)
  })
})

test('ids may follow --', async () => {
  const project = new TaskProject()
  for (const title of ['One', 'Two', 'Three']) await project.must('create', title)
  const view = await project.must('view', '1')
  expect(await project.must('view', '--', '1')).toBe(view)
  expect(await project.must('edit', '1', '-s', 'done', '--plain', '--', '2', '3')).toBe(
    'TASK-001 | Done | - | One\nTASK-002 | Done | - | Two\nTASK-003 | Done | - | Three\n',
  )
  expect(await project.must('archive', '--', '1', '2')).toBe('Archived TASK-001, TASK-002\n')
  expect(await project.must('delete', '--', '3')).toBe('Deleted TASK-003\n')
})

describe('input that would be lost is refused', () => {
  test.each([
    [['create', '--batch', 'Title'], "'Title' cannot be combined with --batch."],
    [['create', '--batch', '-p', 'high'], "'--priority' cannot be combined with --batch."],
    [['claim', '1', '--', '2'], "Unexpected argument '2'."],
    [['claim', '--', '-x'], "'-x' is not a task id."],
    [['archive', '--done', '--', '1'], "Unexpected argument '1'."],
    [['archive', '--done', '1'], "Unexpected argument '1'."],
    [['list', '--', 'x'], "Unexpected argument 'x'."],
    [['edit', '1'], 'No changes given.'],
    [['edit', '1', '--due', 'notadate'], "'notadate' is not a date."],
    [['create', 'Two', '--due', 'notadate'], "'notadate' is not a date."],
  ])('%j', async (args, message) => {
    const project = new TaskProject()
    await project.must('create', 'One')
    const { code, stdout, stderr } = await project.run(args, { stdin: '{"title":"Two"}' })
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toStartWith(`forge-tasks: ${message}\n`)
    expect(project.names()).toEqual(['TASK-001 - One.md'])
  })

  test('a due date can be a day, a time or empty', async () => {
    const project = new TaskProject()
    await project.must('create', 'One', '--due', '2026-01-31')
    await project.must('edit', '1', '--due', '2026-01-31T10:00:00Z')
    await project.must('edit', '1', '--due', '')
    expect(await project.must('view', '1')).not.toContain('due:')
  })

  test('--priority none overrides the default priority', async () => {
    const project = new TaskProject({ 'config.json': '{"defaults":{"priority":"high"}}' })
    await project.run(['create', '--batch'], { stdin: '{"title":"One","priority":"none"}' })
    await project.must('create', 'Two', '-p', 'None')
    const list = await project.must('list', '--plain')
    expect(list).toBe('TASK-001 | To Do | - | One\nTASK-002 | To Do | - | Two\n')
  })
})

test('an unknown id after --depends-on or --parent suggests similar ones', async () => {
  const project = new TaskProject()
  await project.must('create', 'One')
  for (const command of ['edit', 'create']) {
    for (const option of ['--depends-on', '--parent']) {
      expect(await project.run([command, '1', option, '7'])).toEqual({
        code: 1,
        stdout: '',
        stderr: 'forge-tasks: No task TASK-007.\n  Similar ids:\n    TASK-001  One\n',
      })
    }
  }
})

function inOtherNamespace(cwd: string, args: readonly string[]) {
  return forgeTasks(cwd, args, { program: IN_OTHER_NAMESPACE })
}

/** Claims a task for a run that dies at once. */
async function claimAndDie(root: string, name: string, id = '1'): Promise<void> {
  const run = startRun(name)
  await mustTasks(root, ['claim', id], { env: run.env(1) })
  await run.kill()
}

function replaceIn(path: string, from: string, to: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
}

function stateOf(root: string): { claims: object } {
  return JSON.parse(readFileSync(join(root, '.git/forge-tasks/state.json'), 'utf8')) as {
    claims: object
  }
}
