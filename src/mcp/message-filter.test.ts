import { expect, test } from 'bun:test'
import { filterLine } from './message-filter.ts'

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/list' }
const NOTIFICATION = { jsonrpc: '2.0', method: 'notifications/initialized' }

test.each<[string, unknown[], [id: string | number | null, code: number][]]>([
  [JSON.stringify(CALL), [CALL], []],
  [JSON.stringify(NOTIFICATION), [NOTIFICATION], []],
  [JSON.stringify([CALL, NOTIFICATION, { id: 'x' }]), [CALL, NOTIFICATION], [['x', -32600]]],
  ['', [], []],
  [' \r', [], []],
  ['{"jsonrpc":"2.0","id":1,', [], [[null, -32700]]],
  ['null', [], [[null, -32600]]],
  ['[]', [], [[null, -32600]]],
  ['[null]', [], [[null, -32600]]],
  ['"text"', [], [[null, -32600]]],
  ['{"jsonrpc":"2.0"}', [], [[null, -32600]]],
  ['{"jsonrpc":"2.0","id":3}', [], [[3, -32600]]],
  ['{"jsonrpc":"1.0","id":"a","method":"ping"}', [], [['a', -32600]]],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', [], [[null, -32600]]],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', [], [[null, -32600]]],
  ['{"jsonrpc":"2.0","id":4,"method":5}', [], [[4, -32600]]],
  ['{"jsonrpc":"2.0","id":true,"result":5}', [], []],
])('%s', (line, messages, refusals) => {
  const filtered = filterLine(line)
  expect(filtered.messages as unknown[]).toEqual(messages)
  expect(filtered.refusals.map(({ id, error }) => [id, error.code])).toEqual(refusals)
})
