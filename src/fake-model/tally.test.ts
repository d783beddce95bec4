import { expect, test } from 'bun:test'
import { Tally } from './tally.ts'

test('a script that matches its requests is not reported', () => {
  const tally = new Tally()
  tally.add({ turn: '[0]' })
  expect(tally.renderRemarks([])).toEqual([])
})

test('requests without a turn are counted by reason and unused turns listed', () => {
  const tally = new Tally()
  for (const stray of ['why', 'why', 'other']) tally.add({ stray })
  const unused = ['[1]', '[2]', '[3]', '[4]', '[5]', '[6]', '[7]']
  expect(tally.renderRemarks(unused)).toEqual([
    '2 requests had no matching turn: why',
    '1 request had no matching turn: other',
    'unused: [1], [2], [3], [4], [5] and 2 more',
  ])
})

test('without any request the likely cause is named', () => {
  const tally = new Tally()
  tally.add({})
  expect(tally.renderRemarks(['[0]'])).toEqual([expect.stringContaining('settings.json')])
})
