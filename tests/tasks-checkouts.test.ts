import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, writeFiles } from './support/project.ts'
import {
  addWorktrees,
  commitAll,
  createBatch,
  forgeTasks,
  git,
  makeClone,
  mustTasks,
  readTaskFiles,
  startRun,
} from './support/tasks-stress.ts'

describe('a worktree that is moved', () => {
  test('keeps what was finished there from the others, and is told by its new place', async () => {
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

  test('gets back what a dead agent had begun there', async () => {
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

test('a worktree of the same name is not the one that was removed', async () => {
  const [root, second] = await cloneAndWorktree(['One'])
  await mustTasks(second, ['edit', '1', '--status', 'done'])
  await git(root, 'worktree', 'remove', '--force', second)
  await git(root, 'branch', '-q', '-D', 'w2')
  await addWorktrees(root, 1)
  expect(await explain(root)).toBe('TASK-001 | To Do | - | One | ready')
})

test('a claim from before worktrees were remembered counts by its folder', async () => {
  const [root, second] = await cloneAndWorktree(['One'])
  await mustTasks(second, ['edit', '1', '--status', 'done'])
  const path = join(root, '.git/forge-tasks/state.json')
  const state = JSON.parse(readFileSync(path, 'utf8')) as { claims: Record<string, object> }
  const { worktree: _, ...old } = state.claims['TASK-001'] as Record<string, unknown>
  writeFiles(root, {
    '.git/forge-tasks/state.json': JSON.stringify({ ...state, claims: { 'TASK-001': old } }),
  })
  expect(await explain(root)).toEndWith('| done in ../w2, not merged here')
})

async function cloneAndWorktree(titles: readonly string[]): Promise<[string, string]> {
  const first = await makeClone(titles)
  const [second] = (await addWorktrees(first, 1)) as [string]
  return [first, second]
}

async function explain(cwd: string): Promise<string> {
  return mustTasks(cwd, ['list', '--ready', '--explain', '--plain'])
}
