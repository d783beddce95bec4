import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORGE_TASKS, ON_READ_ONLY_DISK } from '../support/forge-tasks.ts'
import { environment } from '../support/forkhestra.ts'
import { forgeTasks, makeClone, mustTasks, numbered } from '../support/tasks-stress.ts'

const READERS = [
  'list --plain',
  'list --ready --plain',
  'next',
  'view 150',
  'stats',
  'search Task',
  'board --plain',
  'doctor',
]

const COUNT = 150

describe('a writer that is killed in the middle of many files', () => {
  test.each(READERS)('has written all of them for %s', async (line) => {
    const root = await makeHalf()
    expect(await forgeTasks(root, line.split(' '))).toMatchObject({ code: 0 })
    expect(tasksIn(root)).toHaveLength(COUNT)
    expect(readState(root)).toContain('"moves":[]')
  })

  test('leaves nothing to do if it died after its last write', async () => {
    const root = await makeHalf()
    const half = readState(root)
    await mustTasks(root, ['list'])
    writeFileSync(statePath(root), half)
    await mustTasks(root, ['list'])
    expect(readState(root)).toContain('"moves":[]')
  })

  test('does not block readers of a read-only project', async () => {
    const root = await makeHalf()
    const count = tasksIn(root).length
    const options = { program: ON_READ_ONLY_DISK }
    const listed = await mustTasks(root, ['list', '--plain'], options)
    expect(listed.split('\n')).toHaveLength(count)
  })

  test('does not block readers while another process is writing', async () => {
    const root = await makeHalf()
    const count = tasksIn(root).length
    await using _ = await holdLock(root)
    const listed = await mustTasks(root, ['list', '--plain'])
    expect(listed.split('\n')).toHaveLength(count)
  })
})

describe('a process that holds the lock and hangs', () => {
  test.each(READERS)('does not keep %s', async (line) => {
    const root = await makeClone(numbered('Task', 2))
    await mustTasks(root, ['claim', '1', '--as', 'dead'])
    replaceState(root, /"until":"\d+/, '"until":"2001')
    await using _ = await holdLock(root)
    expect(await forgeTasks(root, line.replace('150', '1').split(' '))).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('does not block a command that has a lease to renew', async () => {
    const root = await makeClone(['One'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    const soon = new Date(Date.now() + 60_000).toISOString()
    replaceState(root, /"until":"[^"]*/, `"until":"${soon}`)
    await using _ = await holdLock(root)
    expect(await forgeTasks(root, ['list', '--as', 'a'])).toMatchObject({ code: 0, stderr: '' })
  })
})

/** A clone in which some files are written and others are pending; it may take a few tries. */
async function makeHalf(): Promise<string> {
  for (;;) {
    const root = await makeClone()
    const stdin = numbered('Task', COUNT).map((title) => JSON.stringify({ title }))
    const child = Bun.spawn([FORGE_TASKS, 'create', '--batch'], {
      cwd: root,
      env: environment({ cwd: root }),
      stdin: Buffer.from(stdin.join('\n')),
      stdout: 'ignore',
    })
    const end = performance.now() + 10_000
    // Sleeping would take longer than the writes to interrupt.
    while (!existsSync(join(root, 'forge/tasks/TASK-001 - Task 1.md'))) {
      if (performance.now() > end) throw new Error('nothing was written')
    }
    child.kill('SIGKILL')
    await child.exited
    if (tasksIn(root).length < COUNT) return root
  }
}

function tasksIn(root: string): string[] {
  return readdirSync(join(root, 'forge/tasks')).filter((name) => name.endsWith('.md'))
}

function statePath(root: string): string {
  return join(root, '.git/forge-tasks/state.json')
}

function readState(root: string): string {
  return readFileSync(statePath(root), 'utf8')
}

function replaceState(root: string, from: RegExp, to: string): void {
  writeFileSync(statePath(root), readState(root).replace(from, to))
}

async function holdLock(root: string) {
  const lock = join(import.meta.dir, '../../src/base/linux/lock.ts')
  const script = `(await import('${lock}')).withLock('${root}/.git/forge-tasks/lock', () => {
    console.log('held')
    Bun.sleepSync(60_000)
  })`
  const holder = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe' })
  await holder.stdout.getReader().read()
  return {
    async [Symbol.asyncDispose]() {
      holder.kill('SIGKILL')
      await holder.exited
    },
  }
}
