import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, newTask, refusalOf, RUN, TestStore } from './test-store.ts'

/** A store may combine concurrent writes in one transaction, without visible effects. */
export function testConcurrency(kind: StoreKind): void {
  test('attempts can be settled and claimed concurrently', async () => {
    const fixture = await TestStore.open(kind, { limits: { running: 2 } })
    const { store } = fixture
    await fixture.push('main', ['a', 'b', 'c', 'd', 'e'])
    await store.drain(RUN, 'main', 2)
    const [a, b] = [await fixture.claim('a'), await fixture.claim('b')]
    const answers = await Promise.all([
      store.settle(a, DONE),
      store.claim(RUN, 'w'),
      store.settle(b, DONE),
      store.claim(RUN, 'w'),
      store.claim(RUN, 'w'),
    ])
    const [endOfA, c, endOfB, d, none] = answers
    expect([endOfA, endOfB]).toEqual(['ended', 'ended'])
    expect([c?.task.name, d?.task.name, none]).toEqual(['c', 'd', null])
    expect(await fixture.read('main')).toEqual(['a: done', 'b: done'])
    await fixture.close()
  })

  test('a refused call does not affect concurrent calls', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const [first, again, taken, , unknown, ended, ...late] = await Promise.all([
      store.settle(a, DONE),
      store.settle(a, { ...DONE, output: 'late' }),
      refusalOf(fixture.push('main', ['x', 'main'])),
      fixture.push('main', ['b', 'c']),
      refusalOf(store.send({ id: 'm', run: RUN, from: 'main', to: 'nobody', body: '' })),
      refusalOf(fixture.push('a', ['y'])),
      ...Array.from({ length: 100 }, (_, place) => fixture.push('main', [`t${place}`])),
    ])
    expect([first, again]).toEqual(['ended', 'fenced'])
    expect([taken.kind, unknown.kind, ended.kind]).toEqual([
      'name_of_agent',
      'unknown_agent',
      'agent_ended',
    ])
    expect(late.length).toBe(100)
    const names = (await store.list(RUN)).map(({ name }) => name)
    expect(names.toSorted()).toEqual(
      ['a', 'b', 'c', ...late.map((_, place) => `t${place}`)].toSorted(),
    )
    expect(await fixture.read('main')).toEqual(['a: done'])
    await fixture.close()
  })

  test('close waits for pending writes', async () => {
    const fixture = await TestStore.open(kind)
    const pushed = fixture.store.push([newTask('main', 'a')])
    await fixture.store.close()
    await pushed
    const store = await kind.open(fixture.place)
    expect((await store.list(RUN)).map(({ name }) => name)).toEqual(['a'])
    expect(await store.verify(RUN)).toEqual([])
    await store.close()
  })
}
