import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { firstCause } from './first-cause.ts'

const never = new Promise<never>(() => undefined)

test('a settled cause wins over a later one', async () => {
  expect(await firstCause({ never, done: Promise.resolve(), late: 60_000 })).toBe('done')
  expect(await firstCause({ never, late: 60_000, stop: AbortSignal.abort() })).toBe('stop')
  expect(await firstCause({ never, late: 1 })).toBe('late')
})

test('a rejected promise counts as a cause and is not reported as unhandled', async () => {
  expect(await firstCause({ never, failed: Promise.reject(new Error('for the caller')) })).toBe(
    'failed',
  )
})

test('an absent cause is not waited for', async () => {
  expect(await firstCause({ absent: undefined, late: 0 })).toBe('late')
})

test('the first listed of several settled causes wins', async () => {
  const done = Promise.resolve()
  expect(await firstCause({ stop: AbortSignal.abort(), done })).toBe('stop')
  expect(await firstCause({ done, other: done })).toBe('done')
})

test('a signal that aborts later is noticed', async () => {
  const stop = new AbortController()
  const first = firstCause({ never, stop: stop.signal })
  stop.abort()
  expect(await first).toBe('stop')
})

test('a settled race leaves no listener on a signal that outlives it', async () => {
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
    await firstCause({ stop: signal, done: Promise.resolve(), late: 60_000 })
  }
  expect(count).toEqual({ added: 50, removed: 50 })
})

test('a settled race leaves no timer that would keep the program alive', () => {
  const code = `
    import { firstCause } from ${JSON.stringify(join(import.meta.dir, 'first-cause.ts'))}
    console.log(await firstCause({ done: Promise.resolve(), late: 3_600_000 }))
  `
  const { stdout, exitCode } = Bun.spawnSync([process.execPath, '-e', code], { timeout: 20_000 })
  expect([stdout.toString(), exitCode]).toEqual(['done\n', 0])
})
