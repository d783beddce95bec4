import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, newTask, refusalOf, RUN, Stage } from './stage.ts'

/** A store may combine concurrent writes in one transaction, without visible effects. */
export function testTogether(home: Home): void {
  test('attempts can be settled and claimed concurrently', async () => {
    const stage = await Stage.set(home, { limits: { running: 2 } })
    const { store } = stage
    await stage.push('main', ['a', 'b', 'c', 'd', 'e'])
    await store.drain(RUN, 'main', 2)
    const [a, b] = [await stage.claim('a'), await stage.claim('b')]
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
    expect(await stage.read('main')).toEqual(['a: done', 'b: done'])
    await stage.strike()
  })

  test('a refused call does not affect concurrent calls', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const [first, again, taken, , unknown, ended, ...late] = await Promise.all([
      store.settle(a, DONE),
      store.settle(a, { ...DONE, output: 'late' }),
      refusalOf(stage.push('main', ['x', 'main'])),
      stage.push('main', ['b', 'c']),
      refusalOf(store.send({ id: 'm', run: RUN, from: 'main', to: 'nobody', body: '' })),
      refusalOf(stage.push('a', ['y'])),
      ...Array.from({ length: 100 }, (_, place) => stage.push('main', [`t${place}`])),
    ])
    expect([first, again]).toEqual(['ended', 'fenced'])
    expect([taken.kind, unknown.kind, ended.kind]).toEqual([
      'name_taken',
      'unknown_agent',
      'agent_ended',
    ])
    expect(late.length).toBe(100)
    const names = (await store.list(RUN)).map(({ name }) => name)
    expect(names.toSorted()).toEqual(
      ['a', 'b', 'c', ...late.map((_, place) => `t${place}`)].toSorted(),
    )
    expect(await stage.read('main')).toEqual(['a: done'])
    await stage.strike()
  })

  test('close waits for pending writes', async () => {
    const stage = await Stage.set(home)
    const pushed = stage.store.push([newTask('main', 'a')])
    await stage.store.close()
    await pushed
    const store = await home.open(stage.place)
    expect((await store.list(RUN)).map(({ name }) => name)).toEqual(['a'])
    expect(await store.verify(RUN)).toEqual([])
    await store.close()
  })
}
