import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, writeFiles } from '../support/project.ts'
import {
  addWorktrees,
  commitAll,
  createBatch,
  forgeTasks,
  git,
  makeClone,
  mustTasks,
  readTaskFiles,
  tryGit,
} from '../support/tasks-stress.ts'

describe('branches', () => {
  test('that tick criteria #1 and #3 of one task merge without conflict', async () => {
    const root = await cloneWithCriteria()
    await onBranch(root, 'one', ['edit', '1', '--check-ac', '1'])
    await onBranch(root, 'three', ['edit', '1', '--check-ac', '3'])
    await git(root, 'merge', '-q', '--no-edit', 'one')
    await git(root, 'merge', '-q', '--no-edit', 'three')
    expect(readTaskFiles(root)[0]!.text).toContain(
      '- [x] #1 The first\n- [ ] #2 The second\n- [x] #3 The third\n',
    )
  })

  test('that tick criteria in two worktrees merge without conflict', async () => {
    const root = await cloneWithCriteria()
    const [second] = (await addWorktrees(root, 1)) as [string]
    await Promise.all([
      mustTasks(root, ['edit', '1', '--check-ac', '1']),
      mustTasks(second, ['edit', '1', '--check-ac', '3']),
    ])
    await commitAll(root, 'One')
    await commitAll(second, 'Three')
    await git(root, 'merge', '-q', '--no-edit', 'w2')
    expect(readTaskFiles(root)[0]!.text.match(/- \[x\] #\d/g)).toEqual(['- [x] #1', '- [x] #3'])
  })

  test('that finish different tasks merge without conflict', async () => {
    const root = await makeClone(['First', 'Second'])
    await onBranch(root, 'one', ['edit', '1', '--status', 'done'])
    await onBranch(root, 'two', ['edit', '2', '--status', 'done', '--append-notes', 'It works.'])
    await git(root, 'merge', '-q', '--no-edit', 'one')
    await git(root, 'merge', '-q', '--no-edit', 'two')
    expect(readTaskFiles(root).map(({ status }) => status)).toEqual(['Done', 'Done'])
  })

  test('that claim and that tick a criterion merge without conflict', async () => {
    const root = await cloneWithCriteria()
    await onBranch(root, 'claimed', ['claim', '1', '--as', 'a'])
    await onBranch(root, 'ticked', ['edit', '1', '--check-ac', '2'])
    await git(root, 'merge', '-q', '--no-edit', 'claimed')
    await git(root, 'merge', '-q', '--no-edit', 'ticked')
    expect(readTaskFiles(root)[0]).toMatchObject({ status: 'In Progress' })
  })

  test('that conflict leave a reported file, and everything else works', async () => {
    const root = await makeClone(['First', 'Second'])
    await onBranch(root, 'one', ['edit', '1', '--status', 'done'])
    await onBranch(root, 'two', ['edit', '1', '--status', 'blocked'])
    await git(root, 'merge', '-q', '--no-edit', 'one')
    expect(await tryGit(root, 'merge', '-q', '--no-edit', 'two')).toMatchObject({ code: 1 })
    const list = await forgeTasks(root, ['list', '--plain'])
    expect(list).toMatchObject({ code: 0, stdout: 'TASK-002 | To Do | - | Second\n' })
    expect(list.stderr).toMatch(/^forge-tasks: TASK-001 - First\.md:4: .*conflict.*\n$/)
    expect(await forgeTasks(root, ['doctor'])).toMatchObject({ code: 1 })
  })
})

describe('doctor', () => {
  test('reports missing files that git tracks, with the command to restore them', async () => {
    const root = await makeClone(['Kept', 'Lost', 'Deleted', 'Archived'])
    await commitAll(root, 'Tasks')
    rmSync(join(root, 'forge/tasks/TASK-002 - Lost.md'))
    await mustTasks(root, ['delete', '3'])
    await mustTasks(root, ['archive', '4', '--force'])
    const restore = "git restore -- 'forge/tasks/TASK-002 - Lost.md'"
    const { code, stdout } = await forgeTasks(root, ['doctor', '--plain'])
    expect([code, stdout]).toEqual([
      1,
      `TASK-002 - Lost.md: is missing but tracked by git; run: ${restore}\n`,
    ])
    expect(Bun.spawnSync(['sh', '-c', restore], { cwd: root }).exitCode).toBe(0)
    expect(await forgeTasks(root, ['doctor'])).toMatchObject({ code: 0 })
  })
})

describe('doctor --fix', () => {
  test('keeps both of two notes that conflict', async () => {
    const root = await makeClone(['First'])
    await onBranch(root, 'one', ['edit', '1', '--append-notes', 'Of one'])
    await onBranch(root, 'two', ['edit', '1', '--append-notes', 'Of two', '-l', 'web'])
    await git(root, 'merge', '-q', '--no-edit', 'one')
    expect(await tryGit(root, 'merge', '-q', '--no-edit', 'two')).toMatchObject({ code: 1 })
    const { code, stdout } = await forgeTasks(root, ['doctor', '--fix'])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^TASK-001 - First\.md:\d+: .*conflict.* -> merged both sides.*\n$/,
      ),
    })
    const view = await mustTasks(root, ['view', '1'])
    expect(view).toContain('labels: web\n')
    expect(view).toEndWith('## Implementation Notes\n\nOf one\n\nOf two')
  })

  test('leaves a conflict to a person if the sides contradict each other', async () => {
    const root = await makeClone(['First'])
    await onBranch(root, 'one', ['edit', '1', '--title', 'One'])
    await onBranch(root, 'two', ['edit', '1', '--title', 'Two'])
    await git(root, 'merge', '-q', '--no-edit', 'one')
    await tryGit(root, 'merge', '-q', '--no-edit', 'two')
    const read = () => readFileSync(join(root, 'forge/tasks/TASK-001 - First.md'), 'utf8')
    const before = read()
    expect(await forgeTasks(root, ['doctor', '--fix'])).toMatchObject({ code: 1 })
    expect(read()).toBe(before)
  })
})

describe('two clones that assigned the same id', () => {
  test('merge, and list says so until doctor --fix has renumbered the younger', async () => {
    const { ours } = await mergedClones()
    const list = await forgeTasks(ours, ['list', '--plain'])
    expect(list.code).toBe(0)
    expect(list.stdout.split('\n')).toContain('TASK-002 | To Do | - | Ours')
    expect(list.stderr).toBe(
      'forge-tasks: TASK-002 - Theirs.md:1: has the same id TASK-002 as "TASK-002 - Ours.md"; run: forge-tasks doctor --fix\n',
    )
    const before = textsOf(ours)
    const fixed = await forgeTasks(ours, ['doctor', '--fix'])
    expect(fixed).toMatchObject({
      code: 0,
      stdout:
        'TASK-002 - Theirs.md: has the same id TASK-002 as "TASK-002 - Ours.md" -> renumbered to TASK-004\n' +
        'TASK-003 - After theirs.md: refers to TASK-002, now TASK-004 -> updated the reference\n',
    })
    const { 'TASK-002 - Theirs.md': younger, ...others } = before
    const renumbered = younger!.replace('id: TASK-002', 'id: TASK-004')
    const { 'TASK-003 - After theirs.md': _before, ...untouched } = others
    const { 'TASK-003 - After theirs.md': _after, ...after } = textsOf(ours)
    expect(after).toEqual({ ...untouched, 'TASK-004 - Theirs.md': renumbered })
    expect((await forgeTasks(ours, ['list'])).stderr).toBe('')
    expect(await forgeTasks(ours, ['doctor'])).toMatchObject({ code: 0 })
    expect(await mustTasks(ours, ['create', 'Next', '--plain'])).toBe('TASK-005')
  })

  test('keep references to the older task', async () => {
    const { ours } = await mergedClones()
    await mustTasks(ours, ['doctor', '--fix'])
    expect(dependenciesOf(ours, 'Common')).toBe('[TASK-002]')
  })

  test('get references to the younger task rewritten', async () => {
    const { ours } = await mergedClones()
    await mustTasks(ours, ['doctor', '--fix'])
    expect(dependenciesOf(ours, 'After theirs')).toBe('[TASK-004]')
  })

  test('do not get the id of an archived task', async () => {
    const { theirs, ours } = await twoClones()
    await mustTasks(ours, ['create', 'Ours'])
    await createBatch(theirs, ['Theirs', 'Put away'])
    await mustTasks(theirs, ['archive', '3', '--force'])
    await mergeInto(ours, theirs)
    await mustTasks(ours, ['doctor', '--fix'])
    expect(readdirSync(join(ours, 'forge/tasks/archive'))).toEqual(['TASK-003 - Put away.md'])
    expect(namesOf(ours)).toEqual([
      'TASK-001 - Common.md',
      'TASK-002 - Ours.md',
      'TASK-004 - Theirs.md',
    ])
  })
})

describe('local state', () => {
  test('in a clone is never committed, and the worktrees share it', async () => {
    const root = await makeClone(['First', 'Second'])
    const [second] = (await addWorktrees(root, 1)) as [string]
    for (const folder of [root, second]) {
      await mustTasks(folder, ['next', '--claim', '--as', 'a'])
      await mustTasks(folder, ['list'])
      await mustTasks(folder, ['create', 'More'])
      await commitAll(folder, 'Work')
      const files = (await git(folder, 'ls-files')).split('\n')
      expect(files.filter((file) => !/^"?forge\/tasks\/TASK-\d+ - .*\.md"?$/.test(file))).toEqual([
        'README',
      ])
      expect(await git(folder, 'status', '--porcelain', '--ignored')).toBe('')
    }
    expect(existsSync(join(root, '.git/forge-tasks/state.json'))).toBe(true)
    expect(existsSync(join(root, '.git/worktrees/w2/forge-tasks/state.json'))).toBe(false)
  })

  test('is not part of a clone of the clone', async () => {
    const root = await makeClone(['First'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await git(root, 'clone', '-q', root, '../copy')
    const copy = join(root, '../copy')
    expect(await forgeTasks(copy, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('outside git is in forge/tasks/.local, which ignores itself', async () => {
    const root = makeProject()
    await createBatch(root, ['First', 'Second'])
    await mustTasks(root, ['next', '--claim', '--as', 'a'])
    await mustTasks(root, ['list'])
    expect(readFileSync(join(root, 'forge/tasks/.local/.gitignore'), 'utf8')).toBe('*\n')
    expect(existsSync(join(root, 'forge/tasks/.local/state.json'))).toBe(true)
    await expectOnlyTasksCommitted(root, ['TASK-001 - First.md', 'TASK-002 - Second.md'])
  })

  test('outside git ignores itself even if tasks were only listed', async () => {
    const root = makeProject()
    writeFiles(root, { 'forge/tasks/TASK-001 - First.md': '---\nid: TASK-001\n---\n' })
    await mustTasks(root, ['list'])
    await expectOnlyTasksCommitted(root, ['TASK-001 - First.md'])
  })

  test('is kept when the project becomes a repository', async () => {
    const root = makeProject()
    await createBatch(root, ['First', 'Second'])
    await mustTasks(root, ['delete', '2'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await git(root, 'init', '-q', '-b', 'main')
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
    expect(await mustTasks(root, ['create', 'Third', '--plain'])).toBe('TASK-003')
    rmSync(join(root, 'forge/tasks/.local'), { recursive: true })
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
  })

  test('from before the repository is ignored once there is newer state', async () => {
    const root = makeProject()
    await createBatch(root, ['First'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await git(root, 'init', '-q', '-b', 'main')
    await mustTasks(root, ['release', '1', '--as', 'a'])
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('remembers deleted ids in a fresh clone', async () => {
    const root = await makeClone(['First', 'Second'])
    await git(root, 'clone', '-q', root, '../copy')
    const copy = join(root, '../copy')
    await mustTasks(copy, ['delete', '2'])
    expect(await mustTasks(copy, ['create', 'Third', '--plain'])).toBe('TASK-003')
  })

  test('deletes the leftovers of a killed writer', async () => {
    const root = await makeClone(['First'])
    const left = '.git/forge-tasks/.unfinished-abcdefghijkl'
    writeFiles(root, { [left]: '---\nid: TAS' })
    await mustTasks(root, ['edit', '1', '--append-notes', 'A change'])
    expect(existsSync(join(root, left))).toBe(false)
  })

  test('completes the change of a killed writer', async () => {
    const root = await makeClone(['First', 'Second'])
    const path = join(root, 'forge/tasks/TASK-002 - Second.md')
    const from = join(root, '.git/forge-tasks/.unfinished-abcdefghijkl')
    const text = readFileSync(path, 'utf8').replace('To Do', 'Blocked')
    const gone = { from: `${from}-gone`, to: join(root, 'forge/tasks/TASK-001 - First.md') }
    const state = { version: 1, numbers: {}, claims: {}, attempts: {} }
    writeFiles(root, {
      '.git/forge-tasks/.unfinished-abcdefghijkl': text,
      '.git/forge-tasks/state.json': JSON.stringify({
        ...state,
        moves: [gone, { from, to: path }],
      }),
    })
    await mustTasks(root, ['edit', '1', '--append-notes', 'A change'])
    expect(readTaskFiles(root).map(({ status }) => status)).toEqual(['To Do', 'Blocked'])
    expect(readdirSync(join(root, '.git/forge-tasks')).toSorted()).toEqual(['lock', 'state.json'])
  })
})

async function cloneWithCriteria(): Promise<string> {
  const root = await makeClone()
  const criteria = ['The first', 'The second', 'The third'].flatMap((text) => ['--ac', text])
  await mustTasks(root, ['create', 'With criteria', ...criteria])
  await commitAll(root, 'A task')
  return root
}

/** Runs one command on a new branch from main, then checks out main again. */
async function onBranch(root: string, branch: string, args: readonly string[]): Promise<void> {
  await git(root, 'checkout', '-q', '-b', branch)
  await mustTasks(root, args)
  await commitAll(root, branch)
  await git(root, 'checkout', '-q', 'main')
}

async function twoClones(): Promise<{ ours: string; theirs: string }> {
  const ours = await makeClone(['Common'])
  await git(ours, 'clone', '-q', ours, '../theirs')
  return { ours, theirs: join(ours, '../theirs') }
}

/** TASK-002 exists twice, and in each clone another task refers to its TASK-002. */
async function mergedClones(): Promise<{ ours: string }> {
  const { ours, theirs } = await twoClones()
  await mustTasks(ours, ['create', 'Ours'])
  await mustTasks(ours, ['edit', '1', '--depends-on', '2'])
  await mustTasks(theirs, ['create', 'Theirs'])
  await mustTasks(theirs, ['create', 'After theirs', '--depends-on', '2'])
  await mergeInto(ours, theirs)
  return { ours }
}

async function mergeInto(ours: string, theirs: string): Promise<void> {
  await commitAll(ours, 'Ours')
  await commitAll(theirs, 'Theirs')
  await git(ours, 'pull', '-q', '--no-rebase', '--no-edit', theirs, 'main')
}

async function expectOnlyTasksCommitted(root: string, names: readonly string[]): Promise<void> {
  await git(root, 'init', '-q')
  await git(root, 'add', '-A', 'forge')
  const files = (await git(root, 'ls-files')).split('\n')
  expect(files).toEqual(names.map((name) => `forge/tasks/${name}`))
}

function namesOf(root: string): string[] {
  return readTaskFiles(root)
    .map(({ name }) => name)
    .toSorted()
}

function textsOf(root: string): Record<string, string> {
  return Object.fromEntries(readTaskFiles(root).map(({ name, text }) => [name, text]))
}

function dependenciesOf(root: string, title: string): string | undefined {
  const task = readTaskFiles(root).find((each) => each.title === title)
  return /^dependencies: (.*)$/m.exec(task?.text ?? '')?.[1]
}
