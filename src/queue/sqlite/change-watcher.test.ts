import { expect, test } from 'bun:test'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { environment } from '../../../tests/support/forkhestra.ts'
import { makeProject } from '../../../tests/support/project.ts'
import { openSqliteStore } from '../sqlite-store.ts'

test.each([
  ['rings no bell, as one that is killed after its commit', () => {}],
  ['has lost its bell', (place: string) => rmSync(`${place}-bell`)],
])('who waits is woken by a process that %s, a little later', async (_, prepare) => {
  const place = join(makeProject(), 'queue.db')
  const store = await openSqliteStore(place)
  await store.openRun('r')
  const mark = await store.mark()
  const woken = store.wait('r', mark)
  prepare(place)
  const db = new DatabaseSync(place)
  db.exec(`insert into history (at, run, what, subject, attempt, detail)
    values (0, 'r', 'main', '', 0, '')`)
  db.close()
  expect(await woken).not.toBe(mark)
  await store.close()
})

test('who waits again after the bell was replaced hears the new one', async () => {
  const place = join(makeProject(), 'queue.db')
  const [one, other] = [await openSqliteStore(place), await openSqliteStore(place)]
  const send = (id: string, by: typeof one) =>
    by.send({ id, run: 'r', from: 'main', to: 'main', body: 'x' })
  await one.openRun('r')
  const before = one.wait('r', await one.mark())
  await send('first', one)
  const mark = await before
  rmSync(`${place}-bell`)
  const woken = one.wait('r', mark)
  await send('second', other)
  const sent = performance.now()
  await woken
  expect(performance.now() - sent).toBeLessThan(1000)
  await Promise.all([one.close(), other.close()])
})

const NO_WATCHES = 'echo 0 > /proc/sys/user/max_inotify_instances'

const TWO_STORES = `
  import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, '../sqlite-store.ts'))}
  const [one, other] = [await openSqliteStore('queue.db'), await openSqliteStore('queue.db')]
  await one.openRun('r')
  const woken = one.wait('r', await one.mark()).then(() => performance.now())
  await Bun.sleep(100)
  await other.send({ id: 'm', run: 'r', from: 'main', to: 'main', body: 'x' })
  const sent = performance.now()
  console.log((await woken) - sent)
  process.exit()`

test('where the system has no watch to give, who waits looks more often', async () => {
  const cwd = makeProject({ 'work.ts': TWO_STORES })
  const script = `${NO_WATCHES} && ${process.execPath} work.ts`
  const child = Bun.spawn(['unshare', '-r', 'sh', '-c', script], {
    cwd,
    env: environment({ cwd }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const said = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  expect(Number(said)).toBeWithin(0, 1000)
})
