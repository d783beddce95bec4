import { expect, test } from 'bun:test'
import { SEED, withSeed } from '../../support/random.ts'
import { SYSTEM_CLOCK } from '../../../src/queue/limits.ts'
import { StoreProcess } from './store-process.ts'
import type { StoreKind } from './store-kind.ts'
import { RUN, TestStore } from './test-store.ts'

const KILLS = 300
const SLOTS = 6
const TIMES = { taskLeaseMs: 300, readerLeaseMs: 300, firstPauseMs: 1, longestPauseMs: 20 }
const PATIENCE_MS = 300_000

/** What the store confirmed to processes that were killed afterwards. */
class Promises {
  readonly pushed: string[] = []
  readonly ended: string[] = []
  readonly acked: string[] = []

  add(lines: readonly (readonly string[])[]): void {
    for (const [word, id] of lines) {
      if (word === 'pushed') this.pushed.push(id!)
      else if (word === 'ended') this.ended.push(id!)
      else if (word === 'acked') this.acked.push(id!)
    }
  }
}

async function killAll(
  kind: StoreKind,
  place: string,
  promises: Promises,
  random: () => number,
): Promise<void> {
  await Promise.all(
    Array.from({ length: SLOTS }, async (_, slot) => {
      for (let kill = 0; kill < KILLS / SLOTS; kill += 1) {
        const child = new StoreProcess(kind, place, 'storm', `s${slot}-${kill}`, { times: TIMES })
        // Some are killed before their first line, most while they work.
        if (random() < 0.9) await child.said(1 + Math.floor(random() * 8))
        await Bun.sleep(random() * 15)
        promises.add(await child.kill())
      }
    }),
  )
}

/** Finishes the remaining work without being killed. */
async function finishAll(fixture: TestStore, promises: Promises): Promise<void> {
  const { store } = fixture
  for (;;) {
    await store.expire(RUN)
    await store.start(RUN, 'main')
    const claim = await store.claim(RUN, 'last')
    if (claim !== null) {
      await store.settle(claim, { success: true, output: 'last' })
      promises.ended.push(claim.task.id)
    }
    const leases = await store.lease(RUN, 'main', { max: 100 }, 'last')
    await store.ack(leases)
    promises.acked.push(...leases.map(({ message }) => message.id))
    const { queued, ready, running, messages } = await store.counts(RUN)
    if (queued + ready + running + messages === 0) return
    if (claim === null) await Bun.sleep(5)
  }
}

function twice(ids: readonly string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.size === seen.add(id).size)
}

export function testStorm(kind: StoreKind): void {
  test(
    `${KILLS} kills lose nothing, and nothing is done or delivered twice`,
    () => withSeed(SEED, (random) => killAndCompare(kind, random)),
    PATIENCE_MS,
  )
}

async function killAndCompare(kind: StoreKind, random: () => number): Promise<void> {
  const fixture = await TestStore.open(kind, { clock: SYSTEM_CLOCK, times: TIMES })
  const promises = new Promises()
  await killAll(kind, fixture.place, promises, random)
  await finishAll(fixture, promises)
  const tasks = await fixture.store.list(RUN)
  const ids = new Set(tasks.map(({ id }) => id))
  expect(promises.pushed.filter((id) => !ids.has(id))).toEqual([])
  expect(tasks.filter(({ end }) => end?.success !== true)).toEqual([])
  expect(twice(promises.ended)).toEqual([])
  expect(twice(promises.acked)).toEqual([])
  expect(promises.ended.length).toBeGreaterThan(KILLS / 2)
  // Otherwise none was killed while it worked.
  expect(tasks.filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(KILLS / 30)
  await fixture.close()
}
