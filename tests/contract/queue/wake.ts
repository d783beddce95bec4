import { expect, test } from 'bun:test'
import { SYSTEM_CLOCK } from '../../../src/queue/limits.ts'
import { StoreProcess } from './store-process.ts'
import type { Home } from './home.ts'
import { newMessage, RUN, Stage } from './stage.ts'

const PATIENCE_MS = 60_000

export function testWake(home: Home): void {
  test('a wait ends when something happens in its run', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const before = await store.mark()
    const woken = store.wait(RUN, before)
    await stage.push('main', ['a'])
    expect(await woken).not.toBe(before)
    await stage.strike()
  })

  test('a change between mark and wait is not missed', async () => {
    const stage = await Stage.set(home)
    const before = await stage.store.mark()
    await stage.push('main', ['a'])
    expect(await stage.store.wait(RUN, before)).not.toBe(before)
    await stage.strike()
  })

  test('a wait ends when it is aborted and when the store is closed', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const mark = await store.mark()
    expect(await store.wait(RUN, mark, AbortSignal.abort())).toBe(mark)
    const stop = new AbortController()
    const stopped = store.wait(RUN, mark, stop.signal)
    stop.abort()
    expect(await stopped).toBe(mark)
    const last = store.wait(RUN, mark)
    await stage.strike()
    expect(await last).toBe(mark)
  })

  test('changes in another run do not end a wait', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await store.openRun('other')
    const mark = await store.mark()
    let isWoken = false
    const waits = store.wait(RUN, mark).then(() => (isWoken = true))
    const other = store.wait('other', mark)
    await store.push([{ id: 'o', run: 'other', parent: 'main', name: 'o', prompt: '' }])
    await other
    expect(isWoken).toBe(false)
    await stage.push('main', ['a'])
    await waits
    await stage.strike()
  })

  test(
    'another process is woken by every change',
    async () => {
      const stage = await Stage.set(home, { clock: SYSTEM_CLOCK })
      const child = new StoreProcess(home, stage.place, 'listen', 'l', {})
      await child.said(1)
      // bench/queue/wake.ts measures how long it takes, and what a hundred waits cost.
      for (let round = 1; round <= 60; round += 1) {
        await stage.store.send(newMessage('main', 'main', 'x'))
        await child.said(1 + round)
      }
      expect((await child.kill()).slice(0, 61)).toEqual([
        ['listening'],
        ...Array.from({ length: 60 }, () => ['woken']),
      ])
      await stage.strike()
    },
    PATIENCE_MS,
  )
}
