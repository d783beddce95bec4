import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { sendRequest, Control } from './control.ts'

test('a stop request stays until it is cleared', () => {
  const folder = makeProject()
  const control = new Control(folder)
  expect(control.isStopRequested).toBe(false)
  sendRequest(folder, 'stop')
  sendRequest(folder, 'stop')
  expect([control.isStopRequested, control.isStopRequested]).toEqual([true, true])
  expect(control.takeRetryNow()).toBe(false)
  control.clear()
  expect(control.isStopRequested).toBe(false)
})

test('a retry-now request is returned once', () => {
  const folder = makeProject()
  const control = new Control(folder)
  expect(control.takeRetryNow()).toBe(false)
  sendRequest(folder, 'retry-now')
  expect([control.takeRetryNow(), control.takeRetryNow()]).toEqual([true, false])
  expect(control.isStopRequested).toBe(false)
  sendRequest(folder, 'retry-now')
  control.clear()
  expect(control.takeRetryNow()).toBe(false)
})

test.each([undefined, join(makeProject(), 'gone')])(
  'of a run without a record (%p) nothing is asked',
  (folder) => {
    const control = new Control(folder)
    control.clear()
    expect([control.isStopRequested, control.takeRetryNow()]).toEqual([false, false])
  },
)
