import { moneyWords } from '../../base/amounts.ts'
import { durationWords } from '../../base/durations.ts'
import { printable } from '../../base/printable.ts'
import type { RecordPlaces } from '../../journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../journal/runs.ts'
import { lastWordsIn } from '../../native/chat-turn.ts'
import { renderTable } from '../../views/table.ts'
import type { Input } from '../command.ts'
import { conversationIn } from '../conversation-place.ts'
import { isChat } from '../records/is-chat.ts'
import { recordsOf } from '../records/place.ts'

/** The newest first. */
export function chatsIn(places: RecordPlaces): RunBrief[] {
  return listRuns(places).filter(({ folder }) => isChat(folder))
}

/** Where the conversation of a chat is. */
export function chatPath(folder: string): string {
  return conversationIn(folder, { scope: [], step: 1, iteration: 1, attempt: 1 })!
}

/** `chat --list`. */
export function listChats(input: Input): number {
  const chats = chatsIn(recordsOf(input)).map(describe)
  if (input.flag('json')) {
    console.log(JSON.stringify({ ok: true, chats }))
    return 0
  }
  const rows = chats.map(({ run, status, agent, ageMs, turns, costUsd, last }) => [
    run,
    status,
    agent,
    `${durationWords(ageMs)} ago`,
    `${turns} turns`,
    moneyWords(costUsd),
    shortly(last ?? ''),
  ])
  if (rows.length === 0) console.log('There is no chat yet; begin one: forkhestra chat')
  else console.log(renderTable(rows).join('\n'))
  return 0
}

/** `last` is what was said to the agent last. */
function describe({ id, folder, status, state, foreign }: RunBrief) {
  const { spent, steps, startedAt, ended } = state
  const at = ended?.at ?? startedAt
  return {
    run: id,
    status,
    ...(foreign === undefined ? {} : { foreign }),
    agent: steps[0]?.agent ?? '',
    ageMs: at === undefined ? 0 : Math.max(0, Date.now() - Date.parse(at)),
    turns: spent.iterations,
    costUsd: spent.costUsd,
    last: foreign === undefined ? lastWordsOf(folder) : null,
  }
}

function lastWordsOf(folder: string): string | null {
  return lastWordsIn({ path: chatPath(folder), env: {} }).person ?? null
}

const LONGEST = 60

function shortly(text: string): string {
  const line = printable(text.trim().split('\n', 1)[0]!)
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
