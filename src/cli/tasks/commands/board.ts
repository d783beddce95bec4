import { hasColour } from '../../../base/terminal/colour.ts'
import { constants } from 'node:os'
import { isTerminal } from '../../../base/linux/is-terminal.ts'
import type { TaskDatabase } from '../../../tasks/database.ts'
import { plainLine, toJson } from '../../../tasks/render.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { print } from '../../print.ts'

export const boardCommand: Command = {
  summary: 'Show the tasks as an interactive board; press ? for the keys.',
  usage: ['forge-tasks board [options]'],
  examples: [
    ['forge-tasks board', 'arrows select, < and > move a card, q quits'],
    ['forge-tasks board --json', 'print the columns for a script'],
  ],
  options: TASK_OPTIONS,
  words: [],
  async run(input) {
    if (input.flag('json') || input.flag('plain')) return printColumns(input)
    if (!isTerminal(0) || !isTerminal(1) || process.env['TERM'] === 'dumb') {
      throw new UsageError(
        'The board needs a terminal for input and output.',
        'Use: forge-tasks list, or forge-tasks board --plain',
      )
    }
    return showBoard(openDatabase(input))
  },
}

async function printColumns(input: Input): Promise<number> {
  const { makeColumns, readSnapshot } = await import('../../../views/board/snapshot.ts')
  const { STATUSES } = await import('../../../tasks/status.ts')
  const snapshot = readSnapshot(openDatabase(input))
  const columns = makeColumns(snapshot, { words: '', isOnlyReady: false })
  warnBroken(snapshot)
  if (input.flag('json')) {
    const listed = columns.map((cards, index) => ({
      status: STATUSES[index],
      count: cards.length,
      tasks: cards.map(({ task, isReady, holder }) => {
        return { ...toJson(task), isReady, claimedBy: holder ?? null }
      }),
    }))
    print(JSON.stringify({ columns: listed, broken: snapshot.broken }))
    return 0
  }
  const lines = columns.flat().map(({ task, isReady, holder }) => {
    const state = isReady ? 'ready' : holder === undefined ? '-' : `claimed by ${holder}`
    return `${plainLine(task)} | ${state}`
  })
  if (lines.length > 0) print(lines.join('\n'))
  return 0
}

async function showBoard(database: TaskDatabase): Promise<number> {
  const { openBoardStore } = await import('../../../views/board/store.ts')
  const { BoardSession } = await import('../../../views/board/session.ts')
  const { VISUAL, EDITOR } = process.env
  const session = new BoardSession({
    store: openBoardStore(database),
    editor: VISUAL || EDITOR,
    hasColour: hasColour(1),
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.on(signal, () => session.stop(signal))
  }
  const signal = await session.run()
  return signal === undefined ? 0 : 128 + constants.signals[signal]
}
