import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { ask, Control } from './control.ts'

test('a stop that was asked for holds until it is cleared', () => {
  const folder = makeProject()
  const control = new Control(folder)
  expect(control.isStopAsked).toBe(false)
  ask(folder, 'stop')
  ask(folder, 'stop')
  expect([control.isStopAsked, control.isStopAsked]).toEqual([true, true])
  expect(control.takeRetryNow()).toBe(false)
  control.clear()
  expect(control.isStopAsked).toBe(false)
})

test('a wish to try again at once is told once', () => {
  const folder = makeProject()
  const control = new Control(folder)
  expect(control.takeRetryNow()).toBe(false)
  ask(folder, 'retry-now')
  expect([control.takeRetryNow(), control.takeRetryNow()]).toEqual([true, false])
  expect(control.isStopAsked).toBe(false)
  ask(folder, 'retry-now')
  control.clear()
  expect(control.takeRetryNow()).toBe(false)
})

test.each([undefined, join(makeProject(), 'gone')])(
  'of a run without a record (%p) nothing is asked',
  (folder) => {
    const control = new Control(folder)
    control.clear()
    expect([control.isStopAsked, control.takeRetryNow()]).toEqual([false, false])
  },
)
