import { expect, test } from 'bun:test'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { environment } from '../../../tests/support/forkhestra.ts'
import { makeProject } from '../../../tests/support/project.ts'
import { QueueError } from '../refusal.ts'
import { openSqliteStore } from '../sqlite-store.ts'
import { journalModeOf } from './open.ts'
import { setAside } from './side-files.ts'

const MODULE = join(import.meta.dir, '../sqlite-store.ts')

test.each([
  ['3.53.4', 'wal'],
  ['3.51.3', 'wal'],
  ['3.51.2', 'delete'],
  ['3.50.9', 'delete'],
  ['3.9.0', 'delete'],
  ['4.0.0', 'wal'],
] as const)('SQLite %s uses the journal mode %s', (version, mode) => {
  expect(journalModeOf(version)).toBe(mode)
})

async function kindOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
  } catch (error) {
    if (error instanceof QueueError) return error.refusal.kind
    throw error
  }
  return 'no refusal'
}

test('the store and its side files are private, and its folder is created', async () => {
  const folder = join(makeProject(), 'not', 'there')
  const store = await openSqliteStore(join(folder, 'queue.db'))
  await store.openRun('r')
  for (const end of ['', '-wal', '-shm']) {
    expect(statSync(join(folder, `queue.db${end}`)).mode & 0o777).toBe(0o600)
  }
  await store.close()
})

test('commits are synchronous', async () => {
  const path = join(makeProject(), 'queue.db')
  const store = await openSqliteStore(path)
  const script = `
    const { openConnection } = await import(${JSON.stringify(join(import.meta.dir, 'open.ts'))})
    const db = await openConnection(${JSON.stringify(path)})
    const one = (name) => Object.values(db.get('pragma ' + name))[0]
    console.log(one('journal_mode'), one('synchronous'), one('busy_timeout'))`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script])
  expect(stdout.toString()).toBe('wal 2 0\n')
  await store.close()
})

test('a store of a newer version is not changed', async () => {
  const path = join(makeProject(), 'queue.db')
  await (await openSqliteStore(path)).close()
  const db = new DatabaseSync(path)
  db.exec('pragma user_version = 99; pragma journal_mode = delete')
  db.close()
  const before = readFileSync(path)
  expect(await kindOf(openSqliteStore(path))).toBe('newer_version')
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file that is not a store is not changed', async () => {
  const folder = makeProject({
    'text.db': 'This is a text file that is long enough.\n'.repeat(99),
  })
  const text = join(folder, 'text.db')
  const before = readFileSync(text)
  expect(await kindOf(openSqliteStore(text))).toBe('not_a_store')
  expect(readFileSync(text).equals(before)).toBe(true)

  const other = join(folder, 'other.db')
  const db = new DatabaseSync(other)
  db.exec('create table task (id)')
  db.close()
  const otherBefore = readFileSync(other)
  expect(await kindOf(openSqliteStore(other))).toBe('not_a_store')
  expect(readFileSync(other).equals(otherBefore)).toBe(true)

  mkdirSync(join(folder, 'folder.db'))
  expect(await kindOf(openSqliteStore(join(folder, 'folder.db')))).toBe('not_a_store')
})

test('a file with overwritten bytes is refused as broken', async () => {
  const path = join(makeProject(), 'queue.db')
  const store = await openSqliteStore(path)
  await store.openRun('r')
  await store.close()
  writeFileSync(path, readFileSync(path).fill(7, 200))
  expect(await kindOf(openSqliteStore(path).then((opened) => opened.openRun('r')))).toBe('broken')
})

test.each([
  ['deleted', (path: string) => rmSync(path)],
  ['replaced', (path: string) => renameSync(path, `${path}.old`)],
])('a store whose file was %s is refused, and waits end', async (_, take) => {
  const path = join(makeProject(), 'queue.db')
  const store = await openSqliteStore(path)
  await store.openRun('r')
  const waiting = store.wait('r', await store.mark())
  take(path)
  await waiting
  expect(await kindOf(store.mark())).toBe('gone')
  expect(await kindOf(store.setStepAgent('r', 'main', 'idle'))).toBe('gone')
  expect(await kindOf(openSqliteStore(path))).toBe('missing')
  setAside(path)
  const other = await openSqliteStore(path)
  await other.openRun('r')
  expect(await other.verify('r')).toEqual([])
  expect(await kindOf(store.list('r'))).toBe('gone')
  await Promise.all([store.close(), other.close()])
})

test.each([
  ['missing', undefined],
  ['empty', ''],
])('a %s file that another process has just turned into a store is opened', async (_, content) => {
  const path = join(makeProject(content === undefined ? {} : { 'queue.db': content }), 'queue.db')
  const other = join(makeProject(), 'queue.db')
  await (await openSqliteStore(other)).close()
  const wasUsed = () => {
    renameSync(other, path)
    return true
  }
  await (await openSqliteStore(path, { wasUsed })).close()
})

/** Runs a script on a separate small file system; returns the refusals that it prints. */
async function onDisk(shell: string, script: string): Promise<string> {
  const cwd = makeProject({
    'work.ts': `
      import { execSync } from 'node:child_process'
      import { openSqliteStore } from ${JSON.stringify(MODULE)}
      const say = (error: unknown) => console.log(error.refusal?.kind ?? error)
      const task = (id: string) =>
        ({ id, run: 'r', parent: 'main', name: id, prompt: 'x'.repeat(20_000) })
      ${script}`,
  })
  const disk = `mkdir disk && mount -t tmpfs -o size=400k none disk || exit 99`
  const child = Bun.spawn(['unshare', '-rm', 'sh', '-c', `${disk}\n${shell}`], {
    cwd,
    env: environment({ cwd }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stdout = await new Response(child.stdout).text()
  await child.exited
  return stdout
}

const WORK = `${process.execPath} work.ts`

test('a push on a full disk is refused, and existing tasks are kept', async () => {
  const said = await onDisk(
    WORK,
    `const store = await openSqliteStore('disk/queue.db')
     await store.openRun('r')
     await store.push([task('first')])
     execSync('cat /dev/zero > disk/fill 2>/dev/null || true')
     for (const id of ['a', 'b', 'c']) await store.push([task(id)]).catch(say)
     await openSqliteStore('disk/other.db').catch(say)
     execSync('rm disk/fill')
     await store.push([task('last')])
     console.log((await store.list('r')).map(({ name }) => name).join(), await store.verify('r'))`,
  )
  expect(said).toBe('disk_full\ndisk_full\ndisk_full\ndisk_full\nfirst,last []\n')
})

test('a read-only store is refused', async () => {
  const said = await onDisk(
    `${WORK} && mount -o remount,ro disk && ${WORK}`,
    `await openSqliteStore('disk/queue.db').then((store) => store.close()).catch(say)`,
  )
  expect(said).toBe('read_only\n')
})
