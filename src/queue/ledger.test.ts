import { expect, test } from 'bun:test'
import { Ledger, type HistoryEntry, type Tables, type HistoryKind } from './ledger.ts'

function entry(what: HistoryKind, subject: string, attempt = 0, detail = ''): HistoryEntry {
  return { what, subject, attempt, detail }
}

const GOOD: readonly HistoryEntry[] = [
  entry('pushed', 't', 0, 'queued'),
  entry('started', 't'),
  entry('claimed', 't', 1, 'w'),
  entry('over', 't', 1, 'again lost'),
  entry('claimed', 't', 2, 'w'),
  entry('over', 't', 2, 'success'),
  entry('ended', 't', 0, 'success'),
  entry('sent', 't.result', 0, 'main'),
  entry('leased', 't.result', 1, 'r1'),
  entry('returned', 't.result', 1, 'r1'),
  entry('leased', 't.result', 2, 'r2'),
  entry('acked', 't.result', 0, 'r2 2'),
]

const ENDED: Tables['tasks'][number] = {
  id: 't',
  state: 'ended',
  attempt: 2,
  worker: null,
  leaseUntil: null,
}

function violationsOf(
  entries: readonly HistoryEntry[],
  tables: Tables = { tasks: [ENDED], messages: [] },
): readonly string[] {
  const ledger = new Ledger()
  for (const line of entries) ledger.add(line)
  return ledger.close(tables)
}

test('a complete history is consistent', () => {
  expect(violationsOf(GOOD)).toEqual([])
})

test.each(GOOD.map((line, place) => [`${line.what} ${line.detail}`, place] as const))(
  'a history without the entry "%s" is inconsistent',
  (_, place) => {
    expect(violationsOf(GOOD.toSpliced(place, 1))).not.toEqual([])
  },
)

test.each(GOOD.map((line, place) => [`${line.what} ${line.detail}`, place] as const))(
  'a history with the entry "%s" twice is inconsistent',
  (_, place) => {
    expect(violationsOf(GOOD.toSpliced(place, 0, GOOD[place]!))).not.toEqual([])
  },
)

test.each<[string, Tables]>([
  ['no task', { tasks: [], messages: [] }],
  ['another attempt', { tasks: [{ ...ENDED, attempt: 1 }], messages: [] }],
  ['another state', { tasks: [{ ...ENDED, state: 'ready' }], messages: [] }],
  ['an ended task with a worker', { tasks: [{ ...ENDED, worker: 'w' }], messages: [] }],
  ['a lease without a worker', { tasks: [{ ...ENDED, leaseUntil: 1 }], messages: [] }],
  ['an unknown task', { tasks: [ENDED, { ...ENDED, id: 'x' }], messages: [] }],
  [
    'an acknowledged message',
    {
      tasks: [ENDED],
      messages: [{ id: 't.result', reader: null, leaseUntil: null, delivery: 2 }],
    },
  ],
])('a table with %s is inconsistent', (_, tables) => {
  expect(violationsOf(GOOD, tables)).not.toEqual([])
})

test('an unacknowledged message must be in the table', () => {
  const entries = GOOD.slice(0, 8)
  expect(violationsOf(entries)).toEqual(['message t.result disappeared unread'])
  const messages = [{ id: 't.result', reader: null, leaseUntil: null, delivery: 0 }]
  expect(violationsOf(entries, { tasks: [ENDED], messages })).toEqual([])
})
