import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { taskText } from '../support/forge-tasks.ts'
import { makeProject, writeFiles } from '../support/project.ts'
import {
  addWorktrees,
  commitAll,
  createBatch,
  fieldOf,
  forgeTasks,
  git,
  makeClone,
  mustTasks,
  readTaskFiles,
  startRun,
} from '../support/tasks-stress.ts'

describe('a worktree that is moved', () => {
  test('still blocks what was finished there, and is shown by its new path', async () => {
    const [root, second] = await cloneAndWorktree(['One', 'Two'])
    await mustTasks(second, ['edit', '1', '--status', 'done'])
    await git(root, 'worktree', 'move', '../w2', '../w9')
    expect(await mustTasks(root, ['list', '--ready', '--plain'])).toBe('TASK-002 | To Do | - | Two')
    const why = 'done in ../w9, not merged here'
    expect(await explain(root)).toContain(`TASK-001 | To Do | - | One | ${why}`)
    expect(await mustTasks(root, ['view', '1'])).toContain('/w9')
    const { code, stderr } = await forgeTasks(root, ['claim', '1'])
    expect({ code, stderr }).toMatchObject({ code: 3, stderr: expect.stringContaining(why) })
  })

  test('does not wait for itself', async () => {
    const [root, second] = await cloneAndWorktree(['One'])
    await mustTasks(second, ['edit', '1', '--status', 'done'])
    await git(root, 'worktree', 'move', '../w2', '../w9')
    const moved = join(root, '../w9')
    const path = join(moved, 'forge/tasks/TASK-001 - One.md')
    await Bun.write(path, readFileSync(path, 'utf8').replace('status: Done', 'status: To Do'))
    expect(await explain(moved)).toBe('TASK-001 | To Do | - | One | ready')
  })

  test('gets the tasks of a dead agent back', async () => {
    const [root, second] = await cloneAndWorktree(['One'])
    const run = startRun('run-1')
    await mustTasks(second, ['claim', '1'], { env: run.env(1) })
    await run.kill()
    await git(root, 'worktree', 'move', '../w2', '../w9')
    await mustTasks(root, ['next'])
    expect(readTaskFiles(join(root, '../w9'))[0]!.status).toBe('To Do')
  })

  test('with a project below its top keeps what was finished there', async () => {
    const root = join(makeProject({ 'main/part/forge/tasks/README': '' }), 'main')
    await git(root, 'init', '-q', '-b', 'main')
    await createBatch(join(root, 'part'), ['One'])
    await commitAll(root, 'Begin')
    const [second] = (await addWorktrees(root, 1)) as [string]
    await mustTasks(join(second, 'part'), ['edit', '1', '--status', 'done'])
    await git(root, 'worktree', 'move', '../w2', '../w9')
    expect(await explain(join(root, 'part'))).toEndWith('| done in ../../w9/part, not merged here')
  })
})

describe('what was finished in another worktree', () => {
  test('is never dropped before it is merged', async () => {
    const root = await makeClone(['First'])
    const ids = await planMany(root, 810)
    const [second] = (await addWorktrees(root, 1)) as [string]
    await finishMany(root, second, ids.slice(0, 700))
    expect(await readyIn(root)).toEqual(ids.slice(700))
    expect(settledIn(root)).toEqual(ids.slice(0, 700))
    await commitAll(second, 'Work')
    await git(root, 'merge', '-q', '--no-edit', 'w2')
    await finishMany(root, second, ids.slice(700))
    expect(await readyIn(root)).toEqual([])
    expect(settledIn(root)).toHaveLength(500)
  })

  test('is dropped once no checkout needs it', async () => {
    const root = await makeClone(['First'])
    const ids = await planMany(root, 802)
    const [second] = (await addWorktrees(root, 1)) as [string]
    await finishMany(root, second, ids.slice(0, 700))
    await git(root, 'worktree', 'remove', '--force', second)
    await git(root, 'worktree', 'add', '-q', '-b', 'w3', '../w3')
    await finishMany(root, root, ids.slice(700))
    expect(settledIn(root)).toHaveLength(500)
    expect(await readyIn(join(root, '../w3'))).toEqual(ids.slice(0, 700))
  })

  test('is kept for a main worktree that git does not find', async () => {
    const root = join(makeProject({ 'main/README': '' }), 'main')
    await git(root, 'init', '-q', '-b', 'main', '--separate-git-dir', '../git')
    await createBatch(root, ['First'])
    const ids = await planMany(root, 601)
    const [second] = (await addWorktrees(root, 1)) as [string]
    await finishMany(root, second, ids)
    expect(await readyIn(root)).toEqual([])
  })

  test('is not offered again after a month', async () => {
    const [root, second] = await cloneAndWorktree(['One', 'Two'])
    await finish(second, ['1'])
    const old = readFileSync(statePath(root), 'utf8').replace(/"at":"\d+/, '"at":"2001')
    writeFileSync(statePath(root), old)
    const brief = await mustTasks(root, ['next', '--claim', '--as', 'b'])
    expect(fieldOf(brief, 'id')).toBe('TASK-002')
    expect(await forgeTasks(root, ['next', '--claim', '--as', 'b'])).toMatchObject({ code: 1 })
  })
})

test('a worktree of the same name is not the one that was removed', async () => {
  const [root, second] = await cloneAndWorktree(['One'])
  await mustTasks(second, ['edit', '1', '--status', 'done'])
  await git(root, 'worktree', 'remove', '--force', second)
  await git(root, 'branch', '-q', '-D', 'w2')
  await addWorktrees(root, 1)
  expect(await explain(root)).toBe('TASK-001 | To Do | - | One | ready')
})

test('an old claim without a worktree counts by its folder', async () => {
  const [root, second] = await cloneAndWorktree(['One'])
  await mustTasks(second, ['edit', '1', '--status', 'done'])
  const state = readState(root)
  const { worktree, ...old } = state.claims['TASK-001']!
  expect(worktree).toMatchObject({ name: 'w2' })
  writeFileSync(statePath(root), JSON.stringify({ ...state, claims: { 'TASK-001': old } }))
  expect(await explain(root)).toEndWith('| done in ../w2, not merged here')
})

async function finish(cwd: string, ids: readonly string[]): Promise<void> {
  await mustTasks(cwd, ['edit', ...ids, '--status', 'done'])
}

async function readyIn(cwd: string): Promise<string[]> {
  const lines = await mustTasks(cwd, ['list', '--ready', '--plain'])
  return lines === ''
    ? []
    : lines
        .split('\n')
        .map((line) => line.split(' ')[0]!)
        .toSorted()
}

/** Creates and commits tasks up to this number; returns all ids. */
async function planMany(root: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => renderNumber(index + 1))
  const files = ids.slice(1).map((id) => {
    return [fileOf(id), taskText([`id: ${id}`, `title: ${id}`, 'status: To Do'])] as const
  })
  writeFiles(root, Object.fromEntries(files))
  await commitAll(root, 'Plan')
  return ids
}

/** Finishes the first and the last task with commands, and fakes the rest, which is faster. */
async function finishMany(root: string, cwd: string, ids: readonly string[]): Promise<void> {
  await finish(cwd, ids.slice(0, 1))
  const between = ids.slice(1, -1)
  const files = between.map((id) => {
    const path = join(cwd, fileOf(id))
    return [fileOf(id), readFileSync(path, 'utf8').replace('To Do', 'Done')] as const
  })
  writeFiles(cwd, Object.fromEntries(files))
  const state = readState(root)
  const like = state.claims[ids[0]!]
  const claims = { ...state.claims, ...Object.fromEntries(between.map((id) => [id, like])) }
  writeFileSync(statePath(root), JSON.stringify({ ...state, claims }))
  await finish(cwd, ids.slice(-1))
}

function fileOf(id: string): string {
  return id === 'TASK-001' ? 'forge/tasks/TASK-001 - First.md' : `forge/tasks/${id} - ${id}.md`
}

function renderNumber(number: number): string {
  return `TASK-${String(number).padStart(3, '0')}`
}

function settledIn(root: string): string[] {
  return Object.keys(readState(root).claims).toSorted()
}

interface Remembered {
  readonly claims: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

function readState(root: string): Remembered {
  return JSON.parse(readFileSync(statePath(root), 'utf8')) as Remembered
}

function statePath(root: string): string {
  const inside = join(root, '.git/forge-tasks/state.json')
  return existsSync(inside) ? inside : join(root, '../git/forge-tasks/state.json')
}

async function cloneAndWorktree(titles: readonly string[]): Promise<[string, string]> {
  const first = await makeClone(titles)
  const [second] = (await addWorktrees(first, 1)) as [string]
  return [first, second]
}

async function explain(cwd: string): Promise<string> {
  return mustTasks(cwd, ['list', '--ready', '--explain', '--plain'])
}
