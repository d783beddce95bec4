import { describe, expect, test } from 'bun:test'
import { makeTask } from '../../../tests/support/tasks.ts'
import { makeBoard, type Board } from './board.ts'
import { KeyParser } from '../terminal/keys.ts'
import { atEnd, type EditedText } from '../terminal/line-editor.ts'
import { render, renderLine } from './render.ts'
import { makeCard, type Card } from './snapshot.ts'
import { makePaint } from '../terminal/columns.ts'
import { update } from './update.ts'

const CLAIM = { owner: 'agent-7', at: '', root: '/' }
const CARDS: readonly Card[] = [
  makeCard(makeTask(1, { priority: 'high', title: '漢字漢字漢字漢字漢字漢字' }), true),
  makeCard(makeTask(2, { title: '\u001b[2J\u0007', assignee: 'eve' }), false),
  makeCard(makeTask(3, { status: 'In Progress', assignee: 'agent-7' }), false, CLAIM, 'agent-7'),
  makeCard(makeTask(4, { status: 'Done', title: '👩‍👩‍👧 done' }), false),
]

function board(width: number, height: number, keys = '', cards = CARDS): Board {
  const broken = [{ file: 'x.md', line: 1, problem: 'none' }]
  const start = makeBoard('project', { width, height }, { cards, broken })
  const parser = new KeyParser()
  return [...parser.push(Buffer.from(keys)), ...parser.flush()].reduce(
    (state, key) => update(state, { type: 'key', key }).board,
    start,
  )
}

function lines(width: number, height: number, keys = '', cards = CARDS): string[] {
  return render(board(width, height, keys, cards), makePaint(true)).map((line) => {
    return Bun.stripANSI(line).trimEnd()
  })
}

describe('the screen', () => {
  test('has four columns of cards', () => {
    expect(lines(80, 12)).toEqual([
      ' project',
      ' To Do 2             In Progress 1       Blocked 0           Done 1',
      '>TASK-001 high       TASK-003                                TASK-004',
      '>漢字漢字漢字漢字…   Title 3                                 👩‍👩‍👧 done',
      '>ready               held by agent-7',
      ' TASK-002',
      ' ?[2J?',
      ' @eve',
      '',
      '',
      '',
      ' ? help  q quit  Enter open  < > move  u undo  n new  / f… 1 broken file: x.md:1',
    ])
  })

  test('of a narrow terminal has the columns around the selection', () => {
    expect(lines(40, 5, 'll')).toEqual([
      '<In Progress 1    > <Blocked 0        >',
      ' TASK-003 @ Title 3',
      '',
      '',
      ' ? help  q quit  En… 1 broken file: x.m…',
    ])
  })

  test('shows that there is more above and below', () => {
    const cards = Array.from({ length: 9 }, (_, index) => makeCard(makeTask(index + 1), false))
    expect(lines(20, 5, '', cards)[0]).toBe(' To Do 9 v        >')
    expect(lines(20, 5, 'jjjj', cards).slice(0, 4)).toEqual([
      ' To Do 9 ^v       >',
      ' TASK-003   Title 3',
      ' TASK-004   Title 4',
      '>TASK-005   Title 5',
    ])
    expect(lines(20, 5, 'G', cards)[0]).toBe(' To Do 9 ^        >')
  })

  test('asks in its last line', () => {
    const last = (keys: string) => lines(80, 12, keys).at(-1)
    expect(last('s')).toBe(' Status of TASK-001: t to do, i in progress, b blocked, d done')
    expect(last('p')).toBe(' Priority of TASK-001: h high, m medium, l low, n none')
    expect(last('nNew')).toBe(' Title of the new task: New')
    expect(last('ja')).toBe(' Assign TASK-002 to: eve')
    expect(last('/abc')).toBe(' Filter: abc')
    expect(last('ll>')).toBe(' No task is selected.')
  })
})

test('every line is as wide as the screen, on every screen and in every mode', () => {
  for (const keys of ['', 'l', 'll', '?', '/漢字漢字漢字', 'nabc', 's', 'r', '<']) {
    for (let width = 1; width < 90; width += width < 24 ? 1 : 13) {
      for (const height of [1, 2, 3, 5, 8, 12, 40]) {
        const screen = render(board(width, height, keys), makePaint(true))
        expect(screen).toHaveLength(height)
        for (const line of screen) {
          const plain = Bun.stripANSI(line)
          expect(Bun.stringWidth(plain)).toBeLessThanOrEqual(Math.max(1, width))
          // oxlint-disable-next-line no-control-regex
          expect(plain).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
        }
      }
    }
  }
})

test('the cursor of a line is always visible', () => {
  const show = (line: EditedText, width: number) =>
    renderLine(line, width, makePaint(false)).replace('\u001b[7m', '[').replace('\u001b[27m', ']')
  expect(show(atEnd('abcdefgh'), 5)).toBe('efgh[ ]')
  expect(show({ before: '', after: 'abcdefgh' }, 5)).toBe('[a]bcd…')
  expect(show(atEnd('漢字漢'), 4)).toBe('漢[ ]')
  expect(show(atEnd('abc'), 0)).toBe('[ ]')
  expect(show({ before: '\u001b[2J', after: '\u0007\u009b' }, 10)).toBe('?[2J[?]?')
})

test('pasting a megabyte is fast, and joins its lines', () => {
  const began = performance.now()
  const pasted = `n\u001b[200~${'word\n'.repeat(200_000)}\u001b[201~\u007f\u007f\u001b[D`
  expect(lines(40, 12, pasted).at(-1)).toContain('word word')
  // Milliseconds; in quadratic time, hours.
  expect(performance.now() - began).toBeLessThan(30_000)
})
