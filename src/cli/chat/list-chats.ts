import { formatMoney } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { printable } from '../../base/terminal/printable.ts'
import { chatsIn, describeChat } from '../../host/chat/list-chats.ts'
import { renderTable } from '../../views/table.ts'
import type { Input } from '../command.ts'
import { recordsFor } from '../records/choose-run.ts'

/** `chat --list`. */
export function listChats(input: Input): number {
  const chats = chatsIn(recordsFor(input)).map(describeChat)
  if (input.flag('json')) {
    console.log(JSON.stringify({ ok: true, chats }))
    return 0
  }
  const rows = chats.map(({ run, status, agent, ageMs, turns, costUsd, last }) => [
    run,
    status,
    agent,
    `${formatDuration(ageMs)} ago`,
    `${turns} turns`,
    formatMoney(costUsd),
    shortly(last ?? ''),
  ])
  if (rows.length === 0) console.log('No chats yet; start one: forkhestra chat')
  else console.log(renderTable(rows).join('\n'))
  return 0
}

const LONGEST = 60

function shortly(text: string): string {
  const line = printable(text.trim().split('\n', 1)[0]!)
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
