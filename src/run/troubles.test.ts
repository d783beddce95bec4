import { expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { QueueError } from '../queue/refusal.ts'
import { Troubles } from './troubles.ts'

const FULL = new QueueError({ kind: 'disk_full', place: 'q' })

function troubles() {
  const said: string[] = []
  return { said, troubles: new Troubles((text) => said.push(text)) }
}

test('a trouble that several meet by turns is said once, with what to do, and once when it is over', () => {
  const { said, troubles: all } = troubles()
  for (let turn = 0; turn < 3; turn++) for (const who of ['look', 'take']) all.failed(who, FULL)
  expect(said).toEqual([
    expect.stringMatching(/^The disk .* q is full\. Make room.* 10 minutes\.$/),
  ])
  all.worked('look')
  expect(said).toHaveLength(1)
  all.worked('take')
  expect(said.slice(1)).toEqual([expect.stringContaining('can be used again')])
  all.worked('take')
  expect(said).toHaveLength(2)
})

test('a trouble that comes again after its end is said again, and another one beside it', () => {
  const { said, troubles: all } = troubles()
  all.failed('a', FULL)
  all.failed('a', new UserError('Other', 'Do it.'))
  all.worked('a')
  all.failed('a', FULL)
  expect(said.map((text) => text.slice(0, 9))).toEqual([
    'The disk ',
    'Other Do ',
    'The queue',
    'The queue',
    'The disk ',
  ])
})

test('that somebody gave up does not mean that it is over', () => {
  const { said, troubles: all } = troubles()
  all.failed('a', FULL)
  all.gaveUp('a')
  expect(said).toHaveLength(1)
})

test('once a result that waited is written it is over, though what comes by the way has not tried', () => {
  const { said, troubles: all } = troubles()
  const [one, two] = [{}, {}]
  for (const who of ['look', one, two]) all.failed(who, FULL)
  all.worked(one)
  expect(said).toHaveLength(1)
  all.worked(two)
  expect(said).toHaveLength(2)
})
