import { constants } from 'node:os'
import { isatty } from 'node:tty'
import { plainLine, toJson } from '../../../tasks/render.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken, type Database } from '../database.ts'
import { print } from '../print.ts'

export const boardCommand: Command = {
  summary: 'The tasks as a board, to look at and to move; ? shows the keys.',
  usage: ['forge-tasks board [options]'],
  examples: [
    ['forge-tasks board', 'arrows select, < and > move a card, q quits'],
    ['forge-tasks board --json', 'the columns, once, for a script'],
  ],
  options: TASK_OPTIONS,
  words: [],
  async run(input) {
    if (input.flag('json') || input.flag('plain')) return printColumns(input)
    if (!isatty(0) || !isatty(1) || process.env['TERM'] === 'dumb') {
      throw new UsageError(
        'The board needs a terminal for its input and its output.',
        'Write: forge-tasks list, or forge-tasks board --plain',
      )
    }
    return showBoard(openDatabase(input))
  },
}

async function printColumns(input: Input): Promise<number> {
  const { makeColumns, readSnapshot } = await import('../../../board/snapshot.ts')
  const { STATUSES } = await import('../../../tasks/words.ts')
  const snapshot = readSnapshot(openDatabase(input).places)
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

async function showBoard({ places, owner }: Database): Promise<number> {
  const { openStore } = await import('../../../board/store.ts')
  const { Session } = await import('../../../board/session.ts')
  const { VISUAL, EDITOR, NO_COLOR } = process.env
  const session = new Session({
    store: openStore(places, owner),
    editor: VISUAL || EDITOR,
    hasColour: !NO_COLOR,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
    process.on(signal, () => session.stop(signal))
  }
  const signal = await session.run()
  return signal === undefined ? 0 : 128 + constants.signals[signal]
}
