import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { firstOf } from './first-of.ts'

const never = new Promise<never>(() => undefined)

test('what is there already wins over what takes time', async () => {
  expect(await firstOf({ never, done: Promise.resolve(), late: 60_000 })).toBe('done')
  expect(await firstOf({ never, late: 60_000, stop: AbortSignal.abort() })).toBe('stop')
  expect(await firstOf({ never, late: 1 })).toBe('late')
})

test('a promise that fails has happened, and its failure is nobody else’s', async () => {
  expect(await firstOf({ never, failed: Promise.reject(new Error('for the caller')) })).toBe(
    'failed',
  )
})

test('an absent cause is not waited for', async () => {
  expect(await firstOf({ absent: undefined, late: 0 })).toBe('late')
})

test('of several that have happened the first named wins', async () => {
  const done = Promise.resolve()
  expect(await firstOf({ stop: AbortSignal.abort(), done })).toBe('stop')
  expect(await firstOf({ done, other: done })).toBe('done')
})

test('a signal that aborts later is heard', async () => {
  const stop = new AbortController()
  const first = firstOf({ never, stop: stop.signal })
  stop.abort()
  expect(await first).toBe('stop')
})

test('a settled race leaves no listener behind on a signal that outlives it', async () => {
  const stop = new AbortController()
  const count = { added: 0, removed: 0 }
  const { signal } = stop
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type: string, listener: () => void) => {
    count.added += 1
    add(type, listener)
  }
  signal.removeEventListener = (type: string, listener: () => void) => {
    count.removed += 1
    remove(type, listener)
  }
  for (let race = 0; race < 50; race++) {
    await firstOf({ stop: signal, done: Promise.resolve(), late: 60_000 })
  }
  expect(count).toEqual({ added: 50, removed: 50 })
})

test('a settled race leaves no timer behind that would keep the program alive', () => {
  const code = `
    import { firstOf } from ${JSON.stringify(join(import.meta.dir, 'first-of.ts'))}
    console.log(await firstOf({ done: Promise.resolve(), late: 3_600_000 }))
  `
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, '-e', code], { timeout: 20_000 })
  expect([stdout.toString(), exitCode]).toEqual(['done\n', 0])
})
