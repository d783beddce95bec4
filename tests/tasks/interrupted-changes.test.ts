import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, renameSync, statSync, utimesSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { withLock } from '../../src/base/linux/lock.ts'
import { taskText } from '../support/forge-tasks.ts'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'
import {
  addWorktrees,
  commitAll,
  createBatch,
  forgeTasks,
  git,
  makeClone,
  mustTasks,
  numbered,
  readTaskFiles,
  startRun,
} from '../support/tasks-stress.ts'

describe('a completed change', () => {
  test('is not repeated: a deleted task that git restored stays', async () => {
    const root = await makeClone(['One', 'Two'])
    await mustTasks(root, ['delete', '1'])
    await git(root, 'checkout', '--', 'forge/tasks')
    await mustTasks(root, ['edit', '2', '--notes', 'x'])
    expect(openIds(root)).toEqual(['TASK-001', 'TASK-002'])
  })

  test('is not repeated: a task archived on one branch stays open on another', async () => {
    const root = await makeClone(['One', 'Two', 'Three'])
    await git(root, 'checkout', '-q', '-b', 'archived')
    await mustTasks(root, ['archive', '1', '2', '--force'])
    await commitAll(root, 'Archive')
    await git(root, 'checkout', '-q', 'main')
    await mustTasks(root, ['edit', '3', '--notes', 'x'])
    expect(openIds(root)).toEqual(['TASK-001', 'TASK-002', 'TASK-003'])
    expect(await git(root, 'status', '--porcelain')).toBe('M "forge/tasks/TASK-003 - Three.md"')
  })

  test('is not repeated: a file that the doctor renamed can be renamed back', async () => {
    const root = await makeClone(['One', 'Two'])
    const [old, other] = [at(root, 'One.md'), at(root, 'Two.md')]
    renameSync(at(root, 'TASK-001 - One.md'), old)
    renameSync(at(root, 'TASK-002 - Two.md'), other)
    await mustTasks(root, ['doctor', '--fix'])
    renameSync(at(root, 'TASK-001 - One.md'), old)
    await mustTasks(root, ['edit', '2', '--notes', 'x'])
    expect(existsSync(old)).toBe(true)
  })

  test('is completed once after a crash', async () => {
    const root = await makeClone(['One', 'Two'])
    const [from, to] = [at(root, 'TASK-001 - One.md'), at(root, 'archive/TASK-001 - One.md')]
    const state = readState(root)
    writeFiles(root, {
      'forge/tasks/archive/.keep': '',
      '.git/forge-tasks/state.json': JSON.stringify({ ...state, moves: [{ from, to }] }),
    })
    await mustTasks(root, ['edit', '2', '--notes', 'x'])
    expect(existsSync(to)).toBe(true)
    renameSync(to, from)
    await mustTasks(root, ['edit', '2', '--notes', 'y'])
    expect(existsSync(from)).toBe(true)
  })

  test('that was interrupted does not overwrite what a person has written since', async () => {
    const root = await makeClone(['One', 'Two'])
    const [from, to] = [local(root, '.unfinished-abc'), at(root, 'TASK-001 - One.md')]
    const text = readFileSync(to, 'utf8')
    const moves = [{ from, to }]
    writeFiles(join(root, '.git/forge-tasks'), {
      '.unfinished-abc': text.replace('title: One', 'title: Of the dead'),
      'state.json': JSON.stringify({ ...readState(root), moves }),
    })
    utimesSync(from, 1_700_000_000, 1_700_000_000)
    await Bun.write(to, text.replace('title: One', 'title: By hand'))
    await mustTasks(root, ['edit', '2', '--notes', 'x'])
    expect(readFileSync(to, 'utf8')).toContain('title: By hand')
    expect(unfinishedIn(root)).toEqual([])
  })
})

describe('a read-only worktree', () => {
  const READ_ONLY = `
    mount --bind "$OTHER" "$OTHER" && mount -o remount,bind,ro "$OTHER" || exit 99
  `

  test('does not block others, and gets its tasks back when it is writable again', async () => {
    const { first, second } = await twoDeadClaims()
    const script = `${READ_ONLY}
      forge-tasks next --claim --as heir --plain | grep ^id:
      forge-tasks edit 3 --notes x --plain && forge-tasks create Four --plain
      grep ^status: "$OTHER"/forge/tasks/TASK-002*
    `
    expect(await inNamespace(first, script, { OTHER: second })).toEqual({
      code: 0,
      stdout: 'id: TASK-001\nTASK-003 | To Do | - | Three\nTASK-004\nstatus: In Progress\n',
      stderr: '',
    })
    await mustTasks(first, ['edit', '3', '--notes', 'y'])
    const [, two] = readTaskFiles(second)
    expect(two).toMatchObject({ id: 'TASK-002', status: 'To Do' })
    // In linked worktrees, attempts are not noted in the file, where they would conflict.
    expect(await mustTasks(second, ['view', '2'])).toContain('run-2 is gone')
    expect(unfinishedIn(first)).toEqual([])
  })

  test('does not block others if its claim is the only dead one', async () => {
    const [first, second] = await cloneAndWorktree(['One', 'Two'])
    const run = startRun('run-1')
    await mustTasks(second, ['claim', '1'], { env: run.env(1) })
    await run.kill()
    const script = `${READ_ONLY} forge-tasks next --claim --as heir --plain | grep ^id:`
    const { code, stdout } = await inNamespace(first, script, { OTHER: second })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'id: TASK-001\n' })
  })

  test('gets an honest error if a file cannot be written after another one was', async () => {
    const root = await makeClone(['One', 'Two'])
    const script = `
      file='forge/tasks/TASK-002 - Two.md'
      mount --bind "$file" "$file" || exit 99
      forge-tasks edit 1 2 --priority high; echo "code $?"
      forge-tasks list --plain
      forge-tasks create Three --plain
    `
    const { stdout, stderr } = await inNamespace(root, script)
    expect(stdout).toBe(
      'code 1\nTASK-001 | To Do | high | One\nTASK-002 | To Do | - | Two\nTASK-003\n',
    )
    expect(stderr).toMatch(/Cannot change the tasks in \S+: EBUSY/)
    expect(stderr).toContain('Some files were changed.')
    expect(stderr).not.toContain('Nothing was changed')
    await mustTasks(root, ['edit', '3', '--notes', 'x'])
    expect(await mustTasks(root, ['view', '2', '--plain'])).toContain('priority: high')
  })

  describe('gets pending changes of a file', () => {
    const NAME = 'TASK-002 - Two.md'

    test('that was last changed in the future', async () => {
      const root = await withWaiting((folder) => utimesSync(at(folder, NAME), 3.8e9, 3.8e9))
      await mustTasks(root, ['edit', '1', '--notes', 'x'])
      expect(await mustTasks(root, ['view', '2', '--plain'])).toContain('priority: high')
    })

    test('unless the file has changed since', async () => {
      const root = await withWaiting()
      const byHand = readFileSync(at(root, NAME), 'utf8').replace('title: Two', 'title: By hand')
      await Bun.write(at(root, NAME), byHand)
      utimesSync(at(root, NAME), 1e9, 1e9)
      await mustTasks(root, ['edit', '1', '--notes', 'x'])
      expect(readFileSync(at(root, NAME), 'utf8')).toBe(byHand)
      expect(unfinishedIn(root)).toEqual([])
    })

    async function withWaiting(prepare: (root: string) => void = () => undefined) {
      const root = await makeClone(['One', 'Two'])
      prepare(root)
      const script = `
        mount --bind "forge/tasks/${NAME}" "forge/tasks/${NAME}" || exit 99
        forge-tasks edit 1 2 --priority high
      `
      expect(await inNamespace(root, script)).toMatchObject({ code: 1 })
      return root
    }
  })

  async function twoDeadClaims() {
    const [first, second] = await cloneAndWorktree(['One', 'Two', 'Three'])
    const [one, two] = [startRun('run-1'), startRun('run-2')]
    await mustTasks(first, ['claim', '1'], { env: one.env(1) })
    await mustTasks(second, ['claim', '2'], { env: two.env(1) })
    await Promise.all([one.kill(), two.kill()])
    return { first, second }
  }
})

test('the git folder may be on another mount of the same disk', async () => {
  const root = await makeClone()
  renameSync(join(root, '.git'), join(root, '../git'))
  writeFiles(root, { '.git/HEAD': '' })
  const script = `
    mount --bind ../git .git || exit 99
    forge-tasks create One --plain && forge-tasks create Two --plain
    chmod 640 forge/tasks/TASK-001*
    forge-tasks edit 1 2 --notes Both --plain
    stat -c %a forge/tasks/TASK-001*
    forge-tasks next --claim --as me --plain | grep ^id:
    forge-tasks archive 1 --force && forge-tasks delete 2
    ls -A forge/tasks forge/tasks/archive
  `
  expect(await inNamespace(root, script)).toEqual({
    code: 0,
    stdout: [
      'TASK-001',
      'TASK-002',
      'TASK-001 | To Do | - | One',
      'TASK-002 | To Do | - | Two',
      '640',
      'id: TASK-001',
      'Archived TASK-001',
      'Deleted TASK-002',
      'forge/tasks:',
      'archive',
      '',
      'forge/tasks/archive:',
      'TASK-001 - One.md',
      '',
    ].join('\n'),
    stderr: '',
  })
})

describe('create', () => {
  test.each([
    ['no index', 1],
    ['an index', 20],
  ])('skips an id that is used in a misnamed file, with %s', async (_, count) => {
    const root = await makeClone(numbered('Task', count))
    await mustTasks(root, ['list'])
    const [next, free] = [count + 1, count + 2].map(renderNumber)
    const copy = taskText([`id: ${next}`, 'title: A copy', 'status: To Do'])
    writeFiles(root, { 'forge/tasks/TASK-001 - copy.md': copy })
    expect(await mustTasks(root, ['create', 'New', '--plain'])).toBe(free!)
  })

  test('gives no id that the index has from a misnamed file', async () => {
    const copies = numbered('Copy', 20).map((name, index) => [
      `forge/tasks/TASK-001 - ${name}.md`,
      taskText([`id: TASK-${100 + index}`, `title: ${name}`, 'status: To Do']),
    ])
    const root = await makeClone(['One'])
    writeFiles(root, Object.fromEntries(copies))
    await mustTasks(root, ['list'])
    expect(await mustTasks(root, ['create', 'New', '--plain'])).toBe('TASK-120')
  })

  test('fails without writing anything if no number is left', async () => {
    const root = await makeClone()
    const name = 'forge/tasks/TASK-999999999 - Last.md'
    writeFiles(root, {
      [name]: taskText(['id: TASK-999999999', 'title: Last', 'status: To Do']),
    })
    const { code, stderr } = await forgeTasks(root, ['create', 'One more'])
    expect(code).toBe(1)
    expect(stderr).toStartWith('forge-tasks: No ids are left after TASK-999999999.\n')
    expect(await mustTasks(root, ['list', '--plain'])).toBe('TASK-999999999 | To Do | - | Last')
  })
})

test('a lock that stays held is not a usage error', () => {
  const path = join(makeProject(), 'lock')
  const twice = () => withLock(path, () => withLock(path, () => 'never', 20))
  expect(twice).toThrow(expect.objectContaining({ exitCode: 1 }))
})

describe('the project', () => {
  test('of a repository is not a sibling or a parent of it', async () => {
    const home = makeProject({ 'forge/notes': '', 'proj/README': '' })
    await git(join(home, 'proj'), 'init', '-q')
    await mustTasks(join(home, 'proj'), ['create', 'One'])
    expect(openIds(join(home, 'proj'))).toEqual(['TASK-001'])
    expect(readdirSync(join(home, 'forge'))).toEqual(['notes'])
  })

  test('of a repository is not in a folder outside it', async () => {
    const home = makeProject({ 'proj/README': '' })
    await mustTasks(home, ['create', 'Of the home'])
    await git(join(home, 'proj'), 'init', '-q')
    expect(await mustTasks(join(home, 'proj'), ['list', '--plain'])).toBe('')
  })

  test('is found up to the top of the repository, and not from a nested one', async () => {
    const root = await makeClone(['One'])
    writeFiles(root, { 'vendor/part/README': '' })
    const listed = () => mustTasks(join(root, 'vendor/part'), ['list', '--plain'])
    expect(await listed()).toBe('TASK-001 | To Do | - | One')
    await git(root, 'init', '-q', 'vendor/part')
    expect(await listed()).toBe('')
  })

  test('is not a file called forge', async () => {
    const root = await makeClone()
    writeFiles(root, { forge: '', 'sub/README': '' })
    const { code, stderr } = await forgeTasks(root, ['create', 'One'])
    expect(code).toBe(1)
    expect(stderr).toContain('Rename the file that is in place of the folder')
    writeFiles(root, { 'sub/forge': '' })
    expect(await mustTasks(join(root, 'sub'), ['list', '--plain'])).toBe('')
  })

  test('is the same through a symbolic link', async () => {
    const root = await makeClone(['One'])
    const link = join(root, '../link')
    await Bun.$`ln -s ${root} ${link}`
    await mustTasks(root, ['edit', '1', '--status', 'done', '--cwd', link])
    const path = at(root, 'TASK-001 - One.md')
    await Bun.write(path, readFileSync(path, 'utf8').replace('status: Done', 'status: To Do'))
    const why = await mustTasks(root, ['list', '--ready', '--explain', '--plain'])
    expect(why).toBe('TASK-001 | To Do | - | One | ready')
  })

  test('in another worktree is shown by its relative path', async () => {
    const [first, second] = await cloneAndWorktree(['One'])
    const explain = async () => mustTasks(second, ['list', '--ready', '--explain', '--plain'])
    await mustTasks(first, ['claim', '1', '--as', 'a'])
    expect(await explain()).toEndWith('| claimed by a in ../main')
    await mustTasks(first, ['edit', '1', '--status', 'done', '--as', 'a'])
    expect(await explain()).toEndWith('| done in ../main, not merged here')
  })
})

describe('the index', () => {
  test('is not rewritten for broken files', async () => {
    const root = await makeClone(numbered('Task', 10))
    const broken = numbered('forge/tasks/Broken', 20).map((name) => [`${name}.md`, 'x'])
    writeFiles(root, Object.fromEntries(broken))
    // The index leaves out files that were written a moment ago.
    for (const name of readdirSync(at(root, ''))) utimesSync(at(root, name), 1, 1)
    await forgeTasks(root, ['list'])
    const written = statSync(local(root, 'index')).ino
    await forgeTasks(root, ['list'])
    await forgeTasks(root, ['list'])
    expect(statSync(local(root, 'index')).ino).toBe(written)
  })

  test('is not deleted while it is being written, only if its writer is long gone', async () => {
    const root = await makeClone(['One'])
    const names = ['.index-new', '.index-old', '.unfinished-old']
    writeFiles(join(root, '.git/forge-tasks'), Object.fromEntries(names.map((name) => [name, ''])))
    utimesSync(local(root, '.index-old'), 0, 0)
    await mustTasks(root, ['edit', '1', '--notes', 'x'])
    const left = readdirSync(local(root, '')).filter((name) => names.includes(name))
    expect(left).toEqual(['.index-new'])
  })
})

test('the history of finished tasks is limited', async () => {
  const root = await makeClone()
  const ids = await createBatch(root, numbered('Task', 700))
  const day = (index: number) => new Date(Date.UTC(2026, 0, 1) + index).toISOString()
  const attempts = ids.map((id, index) => {
    const one = { owner: 'a', at: day(index), ended: day(index), outcome: 'done' }
    return [
      id,
      index === 0 ? Array.from({ length: 80 }, () => ({ ...one, outcome: 'failed' })) : [one],
    ]
  })
  const state = { ...readState(root), attempts: Object.fromEntries(attempts) }
  writeFiles(root, { '.git/forge-tasks/state.json': JSON.stringify(state) })
  await mustTasks(root, ['edit', ...ids, '--status', 'done'])
  const after = readState(root)
  expect(Object.keys(after.claims)).toHaveLength(500)
  expect(Object.keys(after.attempts)).toEqual([ids[0]!, ...ids.slice(-499)])
  expect(after.attempts[ids[0]!]).toHaveLength(50)
  expect(after.moves).toEqual([])
})

test('deleting a task also deletes its attempts', async () => {
  const root = await makeClone(['One'])
  await mustTasks(root, ['claim', '1', '--as', 'a'])
  await mustTasks(root, ['release', '1', '--as', 'a'])
  expect(Object.keys(readState(root).attempts)).toEqual(['TASK-001'])
  await mustTasks(root, ['delete', '1'])
  expect(readState(root).attempts).toEqual({})
})

describe('doctor --fix', () => {
  test('asks git while others can change the database', async () => {
    const root = await makeClone(['One', 'Two'])
    await mustTasks(root, ['edit', '2', '--depends-on', '1'])
    const younger = ['id: TASK-001', 'title: Twin', 'status: To Do']
    const date = 'createdAt: 2099-01-01T00:00:00.000Z'
    writeFiles(root, { 'forge/tasks/TASK-001 - Twin.md': taskText([...younger, date]) })
    await commitAll(root, 'Twins')
    const tools = makeProject({
      git: sh(
        `flock -n '${local(root, 'lock')}' true && word=free || word=held`,
        `echo $word >> '${root}/../seen'`,
        `exec '${Bun.which('git')}' "$@"`,
      ),
    })
    const env = { PATH: `${tools}:${process.env['PATH']}` }
    const said = await mustTasks(root, ['doctor', '--fix'], { env })
    expect(said).toContain('renumbered to TASK-003')
    const seen = readFileSync(join(root, '../seen'), 'utf8')
    expect([...new Set(seen.trim().split('\n'))]).toEqual(['free'])
  })

  test('gives each of many duplicates its own id', async () => {
    const root = await makeClone(numbered('Task', 100))
    const twins = readTaskFiles(root).map(({ id, text }) => [
      `forge/tasks/${id} - Twin.md`,
      text.replace(/createdAt: .*/, 'createdAt: 2099-01-01T00:00:00.000Z'),
    ])
    writeFiles(root, Object.fromEntries(twins))
    await mustTasks(root, ['doctor', '--fix'])
    expect(openIds(root)).toEqual(
      Array.from({ length: 200 }, (_, index) => renderNumber(index + 1)),
    )
  })
})

interface Remembered {
  readonly claims: Readonly<Record<string, unknown>>
  readonly attempts: Readonly<Record<string, readonly unknown[]>>
  readonly moves: readonly unknown[]
}

function readState(root: string): Remembered {
  return JSON.parse(readFileSync(local(root, 'state.json'), 'utf8')) as Remembered
}

function local(root: string, name: string): string {
  return join(root, '.git/forge-tasks', name)
}

function at(root: string, name: string): string {
  return join(root, 'forge/tasks', name)
}

function openIds(root: string): string[] {
  return readTaskFiles(root)
    .map(({ id }) => id)
    .toSorted()
}

function renderNumber(number: number): string {
  return `TASK-${String(number).padStart(3, '0')}`
}

function unfinishedIn(root: string): string[] {
  return readdirSync(local(root, '')).filter((name) => name.startsWith('.unfinished'))
}

async function cloneAndWorktree(titles: readonly string[]): Promise<[string, string]> {
  const first = await makeClone(titles)
  const [second] = (await addWorktrees(first, 1)) as [string]
  return [first, second]
}

/** In its own mount namespace, which ends with the script; root is not needed. */
async function inNamespace(cwd: string, script: string, given: Record<string, string> = {}) {
  const env = environment({ cwd, env: { USER: 'me', ...given } })
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', script], {
    cwd,
    env: { ...env, PATH: `${dirname(FORKHESTRA)}:${env['PATH']}` },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}
