import { expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { QueueError } from '../../queue/refusal.ts'
import { StoreWarnings } from './store-failures.ts'

const FULL = new QueueError({ kind: 'disk_full', place: 'q' })

function warnings() {
  const said: string[] = []
  return { said, warnings: new StoreWarnings((text) => said.push(text)) }
}

test('warns once about a failure that several jobs meet, and once when it is resolved', () => {
  const { said, warnings: all } = warnings()
  for (let turn = 0; turn < 3; turn++) for (const who of ['look', 'take']) all.failed(who, FULL)
  expect(said).toEqual([
    expect.stringMatching(/^The disk .* q is full\. Free disk space.* 10 minutes\.$/),
  ])
  all.worked('look')
  expect(said).toHaveLength(1)
  all.worked('take')
  expect(said.slice(1)).toEqual([expect.stringContaining('works again')])
  all.worked('take')
  expect(said).toHaveLength(2)
})

test('warns again when a resolved failure returns, and about a second failure', () => {
  const { said, warnings: all } = warnings()
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

test('giving up does not count as resolved', () => {
  const { said, warnings: all } = warnings()
  all.failed('a', FULL)
  all.gaveUp('a')
  expect(said).toHaveLength(1)
})

test('a written result resolves the failure before background jobs retry', () => {
  const { said, warnings: all } = warnings()
  const [one, two] = [{}, {}]
  for (const who of ['look', one, two]) all.failed(who, FULL)
  all.worked(one)
  expect(said).toHaveLength(1)
  all.worked(two)
  expect(said).toHaveLength(2)
})
