import { expect, test } from 'bun:test'
import { SYSTEM_CLOCK } from '../../../src/queue/limits.ts'
import { StoreProcess } from './store-process.ts'
import type { StoreKind } from './store-kind.ts'
import { newMessage, RUN, TestStore } from './test-store.ts'

const PATIENCE_MS = 60_000

export function testWake(kind: StoreKind): void {
  test('a wait ends when something happens in its run', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const before = await store.mark()
    const woken = store.wait(RUN, before)
    await fixture.push('main', ['a'])
    expect(await woken).not.toBe(before)
    await fixture.close()
  })

  test('a change between mark and wait is not missed', async () => {
    const fixture = await TestStore.open(kind)
    const before = await fixture.store.mark()
    await fixture.push('main', ['a'])
    expect(await fixture.store.wait(RUN, before)).not.toBe(before)
    await fixture.close()
  })

  test('a wait ends when it is aborted and when the store is closed', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const mark = await store.mark()
    expect(await store.wait(RUN, mark, AbortSignal.abort())).toBe(mark)
    const stop = new AbortController()
    const stopped = store.wait(RUN, mark, stop.signal)
    stop.abort()
    expect(await stopped).toBe(mark)
    const last = store.wait(RUN, mark)
    await fixture.close()
    expect(await last).toBe(mark)
  })

  test('changes in another run do not end a wait', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.openRun('other')
    const mark = await store.mark()
    let isWoken = false
    const waits = store.wait(RUN, mark).then(() => (isWoken = true))
    const other = store.wait('other', mark)
    await store.push([{ id: 'o', run: 'other', parent: 'main', name: 'o', prompt: '' }])
    await other
    expect(isWoken).toBe(false)
    await fixture.push('main', ['a'])
    await waits
    await fixture.close()
  })

  test(
    'another process is woken by every change',
    async () => {
      const fixture = await TestStore.open(kind, { clock: SYSTEM_CLOCK })
      const child = new StoreProcess(kind, fixture.place, 'listen', 'l', {})
      await child.said(1)
      // bench/queue/wake.ts measures how long it takes, and what a hundred waits cost.
      for (let round = 1; round <= 60; round += 1) {
        await fixture.store.send(newMessage('main', 'main', 'x'))
        await child.said(1 + round)
      }
      expect((await child.kill()).slice(0, 61)).toEqual([
        ['listening'],
        ...Array.from({ length: 60 }, () => ['woken']),
      ])
      await fixture.close()
    },
    PATIENCE_MS,
  )
}
