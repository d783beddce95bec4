import { expect, test } from 'bun:test'
import { StoreProcess } from './store-process.ts'
import type { StoreKind } from './store-kind.ts'
import { newMessage, RUN, TestStore } from './test-store.ts'
import { SYSTEM_CLOCK } from '../../../src/queue/limits.ts'

const PATIENCE_MS = 120_000

function names(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `n${place}`)
}

export function testProcesses(kind: StoreKind): void {
  test(
    'eight processes can create a store at once',
    async () => {
      for (let round = 0; round < 5; round += 1) {
        const place = kind.makePlace()
        const children = names(8).map((name) => new StoreProcess(kind, place, 'open', name, {}))
        const lines = await Promise.all(children.map((child) => child.finish()))
        expect(lines).toEqual(children.map(() => [['opened']]))
      }
    },
    PATIENCE_MS,
  )

  test(
    'eight workers claim each task once and respect the limit',
    async () => {
      const limits = { running: 5 }
      const fixture = await TestStore.open(kind, { clock: SYSTEM_CLOCK, limits })
      await fixture.push('main', names(200))
      await fixture.store.drain(RUN, 'main', 4)
      const children = names(8).map(
        (name) => new StoreProcess(kind, fixture.place, 'claimAll', name, { limits }),
      )
      const lines = (await Promise.all(children.map((child) => child.finish()))).flat()
      const taken = lines.map(([, id]) => id)
      expect(taken).toHaveLength(200)
      expect(new Set(taken).size).toBe(200)
      expect(Math.max(...lines.map(([, , running]) => Number(running)))).toBeLessThanOrEqual(4)
      expect(await fixture.store.counts(RUN)).toMatchObject({ ended: 200, messages: 200 })
      await fixture.close()
    },
    PATIENCE_MS,
  )

  test(
    'concurrent readers get each message once',
    async () => {
      const fixture = await TestStore.open(kind, { clock: SYSTEM_CLOCK })
      for (const name of names(150)) await fixture.store.send(newMessage('main', 'main', name))
      const children = names(4).map(
        (name) => new StoreProcess(kind, fixture.place, 'readAll', name, {}),
      )
      const read = (await Promise.all(children.map((child) => child.finish())))
        .flat()
        .map(([, id]) => id)
      expect(read).toHaveLength(150)
      expect(new Set(read).size).toBe(150)
      await fixture.close()
    },
    PATIENCE_MS,
  )
}
