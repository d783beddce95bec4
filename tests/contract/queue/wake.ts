import { expect, test } from 'bun:test'
import { SYSTEM_CLOCK } from '../../../src/queue/limits.ts'
import { StoreProcess } from './store-process.ts'
import type { Home } from './home.ts'
import { preciseNow } from './process.ts'
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
    const start = performance.now()
    expect(await stage.store.wait(RUN, before)).not.toBe(before)
    expect(performance.now() - start).toBeLessThan(1000)
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
    'another process is woken within a second',
    async () => {
      const stage = await Stage.set(home, { clock: SYSTEM_CLOCK })
      const child = new StoreProcess(home, stage.place, 'listen', 'l', {})
      await child.said(1)
      const delays: number[] = []
      for (let round = 1; round <= 60; round += 1) {
        await stage.store.send(newMessage('main', 'main', 'x'))
        const sent = preciseNow()
        await child.said(1 + round)
        delays.push(Number(child.lines[round]![1]) - sent)
        await Bun.sleep(5)
      }
      await child.kill()
      expect(delays.toSorted((one, other) => one - other)[56]!).toBeLessThan(1000)
      await stage.strike()
    },
    PATIENCE_MS,
  )

  test(
    'a hundred waits use at most a hundredth of a core',
    async () => {
      const stage = await Stage.set(home, { clock: SYSTEM_CLOCK })
      const [line] = await new StoreProcess(home, stage.place, 'idle', 'i', {}).finish()
      expect(Number(line![1])).toBeLessThan(0.01)
      await stage.strike()
    },
    PATIENCE_MS,
  )
}
