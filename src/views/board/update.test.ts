import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { makeTask } from '../../../tests/support/tasks.ts'
import type { Task } from '../../tasks/task.ts'
import type { Brief } from '../../tasks/view.ts'
import { makeBoard, selectedCard, type Board } from './board.ts'
import { cardLines } from './card-lines.ts'
import { KeyParser } from '../terminal/keys.ts'
import { render } from './render.ts'
import { makeCard, type Card } from './snapshot.ts'
import type { Effect } from './steps.ts'
import { makePaint } from '../terminal/columns.ts'
import { update } from './update.ts'

function makeBrief(task: Task, change: Partial<Brief> = {}): Brief {
  const criteria = [
    { number: 1, isDone: true, text: 'First' },
    { number: 3, isDone: false, text: 'Third' },
  ]
  return {
    task,
    intro: '',
    description: 'Because.',
    criteria,
    checklist: criteria,
    plan: '',
    notes: '',
    others: [],
    dependencies: [],
    blocks: [],
    claim: undefined,
    attempts: [],
    changedAt: undefined,
    path: '',
    isArchived: false,
    ...change,
  }
}

const TASKS: readonly Card[] = [
  makeCard(makeTask(1, { labels: ['Web'] }), true),
  makeCard(makeTask(2, { assignee: 'Bob' }), false),
  makeCard(makeTask(3), true),
  makeCard(makeTask(4, { status: 'Blocked' }), false),
]

function board(cards: readonly Card[] = TASKS, size = { width: 80, height: 24 }): Board {
  return makeBoard('project', size, { cards, broken: [] })
}

/** The board after these keys, and all that it wanted. */
function press(start: Board, keys: string): { board: Board; effects: Effect[] } {
  const effects: Effect[] = []
  const parser = new KeyParser()
  let state = start
  for (const key of [...parser.push(Buffer.from(keys)), ...parser.flush()]) {
    const step = update(state, { type: 'key', key })
    state = step.board
    effects.push(...step.effects)
  }
  return { board: state, effects }
}

function selectedAfter(keys: string, start = board()): string | undefined {
  return selectedCard(press(start, keys).board)?.task.id
}

describe('the selection', () => {
  test.each([
    ['', 'TASK-001'],
    ['jj', 'TASK-003'],
    ['jjjjk', 'TASK-002'],
    ['G', 'TASK-003'],
    ['Gg', 'TASK-001'],
    ['\u001b[B', 'TASK-002'],
    ['\u001b[6~', 'TASK-003'],
    ['l', undefined],
    ['ll', 'TASK-004'],
    ['jllhh', 'TASK-002'],
    ['lllllh', 'TASK-004'],
  ])('after %j is on %s', (keys, id) => {
    expect(selectedAfter(keys)).toBe(id)
  })

  test('follows its task into another column', () => {
    const { board: before } = press(board(), 'j')
    const cards = TASKS.map((card) => {
      return card.task.id === 'TASK-002' ? makeCard({ ...card.task, status: 'Done' }, false) : card
    })
    const after = update(before, { type: 'loaded', snapshot: { cards, broken: [] } }).board
    expect([after.column, selectedCard(after)?.task.id]).toEqual([3, 'TASK-002'])
  })

  test('stays at its place when its task is gone', () => {
    const { board: before } = press(board(), 'j')
    const cards = TASKS.filter(({ task }) => task.id !== 'TASK-002')
    const after = update(before, { type: 'loaded', snapshot: { cards, broken: [] } }).board
    expect(selectedCard(after)?.task.id).toBe('TASK-003')
    const empty = update(after, { type: 'loaded', snapshot: { cards: [], broken: [] } }).board
    expect(selectedCard(empty)).toBeUndefined()
  })
})

describe('keys that change a task', () => {
  const edit = (changes: object, id = 'TASK-001') =>
    expect.objectContaining({ type: 'edit', id, changes }) as Effect

  test.each<[string, Effect[]]>([
    ['>', [edit({ status: 'In Progress' })]],
    ['\u001b[1;2C', [edit({ status: 'In Progress' })]],
    ['L', [edit({ status: 'In Progress' })]],
    ['<', []],
    ['ll>', [edit({ status: 'In Progress' }, 'TASK-004')]],
    ['llH', [edit({ status: 'To Do' }, 'TASK-004')]],
    ['b', [edit({ status: 'Blocked' })]],
    ['llb', [edit({ status: 'To Do' }, 'TASK-004')]],
    ['u', [{ type: 'undo' }]],
    ['sd', [edit({ status: 'Done' })]],
    ['st', [edit({ status: 'To Do' })]],
    ['sz', []],
    ['s\u001b[200~d\u001b[201~', []],
    ['s\u001b[200~\u001b[201~', []],
    ['s\u001b[3~', []],
    ['s\u001b', []],
    ['ph', [edit({ priority: 'high' })]],
    ['pn', [edit({ priority: 'none' })]],
    ['aeve\r', [edit({ assignee: 'eve' })]],
    ['ja\u0015\r', [edit({ assignee: '' }, 'TASK-002')]],
    ['aeve\u001b', []],
    ['nNew one\r', [{ type: 'create', title: 'New one' }]],
    ['n  \r', []],
    ['e', [{ type: 'editor', file: 'TASK-001.md' }]],
    ['\r', [{ type: 'open', id: 'TASK-001' }]],
    ['l>\rspae', []],
    ['\u001b[200~q>sd\u001b[201~', []],
    ['q', [{ type: 'quit' }]],
    ['n\u0003', [{ type: 'quit' }]],
    ['\u001a', [{ type: 'suspend' }]],
  ])('%j wants the right thing', (keys, effects) => {
    expect(press(board(), keys).effects).toEqual(effects)
  })

  test('take a card from its owner only when that is confirmed', () => {
    const held = makeCard(
      makeTask(5, { status: 'In Progress', assignee: 'Bob' }),
      false,
      undefined,
      'Bob',
    )
    const start = board([held])
    for (const keys of ['>', 'b', 'st', '<']) {
      const asked = press(start, keys)
      expect(asked.effects).toEqual([])
      expect(asked.board.prompt).toMatchObject({ kind: 'take', id: 'TASK-005', owner: 'Bob' })
      expect(press(asked.board, 'n').board.message?.text).toBe('TASK-005 stays with Bob.')
      expect(press(asked.board, 'y').effects).toMatchObject([{ type: 'edit', id: 'TASK-005' }])
    }
    expect(press(start, 'ph').effects).toHaveLength(1)
  })

  test('change the task that they were asked about, whatever happens in between', () => {
    const cards = TASKS.filter(({ task }) => task.id !== 'TASK-001')
    for (const [ask, reply] of [
      ['s', 'd'],
      ['p', 'h'],
      ['a', 'x\r'],
    ] as const) {
      const asked = press(board(), ask).board
      const after = update(asked, { type: 'loaded', snapshot: { cards, broken: [] } }).board
      expect(press(after, reply).effects).toMatchObject([{ type: 'edit', id: 'TASK-001' }])
    }
  })

  test('a message is there until the next key', () => {
    const said = update(board(), { type: 'message', text: 'No.', isError: true }).board
    expect(said.message?.text).toBe('No.')
    expect(press(said, 'j').board.message).toBeUndefined()
  })
})

describe('the filter', () => {
  const shown = (keys: string) =>
    press(board(), keys)
      .board.columns.flat()
      .map(({ task }) => task.id)

  test.each([
    ['/web', ['TASK-001']],
    ['/BOB', ['TASK-002']],
    ['/title 4', ['TASK-004']],
    ['/task-00 3\r', ['TASK-003']],
    ['/bobx\u007f', ['TASK-002']],
    ['/bob\u001b', ['TASK-001', 'TASK-002', 'TASK-003', 'TASK-004']],
    ['/bob\r\u001b', ['TASK-001', 'TASK-002', 'TASK-003', 'TASK-004']],
    ['r', ['TASK-001', 'TASK-003']],
    ['r/3\r', ['TASK-003']],
  ])('%j shows %j', (keys, ids) => {
    expect(shown(keys)).toEqual(ids)
  })

  test('selects what it shows, wherever that is', () => {
    expect(selectedAfter('/title 4')).toBe('TASK-004')
    expect(selectedAfter('ll/bob')).toBe('TASK-002')
    expect(selectedAfter('/title 4\r\u001b')).toBe('TASK-004')
    expect(selectedAfter('/nothing\r')).toBeUndefined()
  })
})

test('a card that goes back to To Do loses the assignee of its claim', () => {
  const claim = { owner: 'zed', at: '', root: '' }
  const held = (assignee: string) =>
    makeCard(makeTask(1, { status: 'In Progress', assignee }), false, claim, 'zed')
  const edit = { type: 'edit', id: 'TASK-001', done: 'TASK-001 is To Do.' } as const
  expect(press(board([held('zed')]), '<y').effects).toEqual([
    { ...edit, changes: { status: 'To Do', assignee: '' } },
  ])
  expect(press(board([held('eve')]), '<y').effects).toEqual([
    { ...edit, changes: { status: 'To Do' } },
  ])
})

test('an open card says what it waits for', () => {
  const dependencies = [
    { id: 'TASK-002', status: 'Done', notes: '' },
    { id: 'TASK-003', status: 'To Do', notes: '' },
  ]
  const textOf = (task: Task) =>
    cardLines(makeBrief(task, { dependencies }), 80).map(({ text }) => text)
  expect(textOf(makeTask(1))).toContain('waits for: TASK-003 (To Do)')
  expect(textOf(makeTask(1, { status: 'Blocked' })).join()).not.toContain('waits for')
})

test('a card shows text before the sections and among the criteria', () => {
  const [first, third] = makeBrief(TASKS[0]!.task).criteria
  const more = { number: 3, isDone: false, text: 'Third\nand fast' }
  const checklist = ['All of these:', first!, { ...third!, ...more }]
  const brief = makeBrief(TASKS[0]!.task, { intro: 'Port 8080.', checklist })
  const lines = cardLines(brief, 80).map(({ text }) => text)
  expect(lines.slice(lines.indexOf('Port 8080.'))).toEqual([
    'Port 8080.',
    '',
    'Description',
    'Because.',
    '',
    'Acceptance Criteria',
    'All of these:',
    '[x] #1 First',
    '[ ] #3 Third',
    '  and fast',
  ])
})

describe('an opened card', () => {
  const brief = makeBrief(TASKS[0]!.task)
  const opened = update(board(), { type: 'opened', brief }).board
  const first = cardLines(brief, 80).findIndex(({ text }) => text === '[x] #1 First')

  test('goes to a criterion before it ticks one', () => {
    expect(press(opened, ' ').effects).toEqual([])
    expect(press(opened, ' ').board.open?.cursor).toBe(first)
    expect(press(opened, '  ').effects).toMatchObject([{ changes: { uncheckCriteria: [1] } }])
    expect(press(opened, '\t\tx').effects).toMatchObject([{ changes: { checkCriteria: [3] } }])
    expect(press(opened, '\u001b[Zx').effects).toMatchObject([{ changes: { checkCriteria: [3] } }])
  })

  test('keeps its cursor when it is read again', () => {
    const moved = press(opened, 'jjj').board
    const again = update(moved, { type: 'opened', brief: makeBrief(TASKS[0]!.task) }).board
    expect(again.open?.cursor).toBe(3)
  })

  test('is moved, and closed by q, Esc and Enter', () => {
    expect(press(opened, '>').effects).toMatchObject([{ changes: { status: 'In Progress' } }])
    for (const key of ['q', '\u001b', '\r']) {
      expect(press(opened, key)).toMatchObject({ board: { open: undefined }, effects: [] })
    }
  })

  test('is scrolled from the first line to the last', () => {
    const description = Array.from({ length: 500 }, (_, line) => `Line ${line}`).join('\n')
    const long = makeBrief(TASKS[0]!.task, { description, notes: 'The end' })
    const state = update(board(), { type: 'opened', brief: long }).board
    const last = press(state, 'G').board
    expect(render(last, makePaint(false)).join('\n')).toContain('The end')
    expect(press(last, 'g').board.open).toMatchObject({ cursor: 0, top: 0 })
  })
})

test('no series of keys, sizes and changes breaks the board', () => {
  const keys = [
    'j',
    'k',
    'h',
    'l',
    'G',
    'g',
    '\r',
    '\u001b',
    '\t',
    '\u001b[Z',
    ' ',
    'x',
    '/',
    'r',
    'n',
  ]
  const more = [
    '?',
    's',
    'd',
    'p',
    'a',
    '<',
    '>',
    'e',
    '1',
    '漢',
    '👩‍👩‍👧',
    '\u007f',
    '\u001b[D',
    '\u0000',
  ]
  const event = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...keys, ...more) },
    fc.record({ width: fc.integer({ min: 1, max: 90 }), height: fc.integer({ min: 1, max: 40 }) }),
    fc.subarray([...TASKS]),
  )
  const next = (state: Board, step: string | readonly Card[] | Board['size']): Board => {
    if (typeof step === 'string') {
      const { board: after, effects } = press(state, step)
      const opened = effects.find(({ type }) => type === 'open')
      if (opened === undefined) return after
      return update(after, { type: 'opened', brief: makeBrief(TASKS[0]!.task) }).board
    }
    if ('width' in step) return update(state, { type: 'resized', size: step }).board
    return update(state, { type: 'loaded', snapshot: { cards: step, broken: [] } }).board
  }
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (steps) => {
      let state = board()
      for (const step of steps) {
        state = next(state, step)
        const { width, height } = state.size
        const lines = render(state, makePaint(true)).map((line) => Bun.stripANSI(line))
        expect(lines).toHaveLength(height)
        expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(width)
      }
    }),
  )
})

test('a key is handled quickly with 10 000 tasks', () => {
  const cards = Array.from({ length: 10_000 }, (_, index) => makeCard(makeTask(index + 1), true))
  let state = board(cards)
  const times = Array.from({ length: 100 }, (_, count) => {
    const began = performance.now()
    state = press(state, count % 2 === 0 ? 'j' : '\u001b[6~').board
    render(state, makePaint(true))
    return performance.now() - began
  })
  // A few milliseconds, even on a slow machine; one that compares all tasks with all takes seconds.
  expect(times.toSorted((one, other) => one - other)[50]).toBeLessThan(500)
})
