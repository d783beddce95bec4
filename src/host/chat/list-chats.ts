import type { RecordPlaces } from '../../records/journal/record-folder.ts'
import { listRuns, type RunBrief } from '../../records/journal/runs.ts'
import { lastExchange } from '../../engines/native/chat-turn.ts'
import { conversationIn } from '../conversation-path.ts'
import { isChat } from '../records/plan-in.ts'

/** All chats, newest first. */
export function chatsIn(places: RecordPlaces): RunBrief[] {
  return listRuns(places).filter(({ folder }) => isChat(folder))
}

export function chatPath(folder: string): string {
  return conversationIn(folder, { scope: [], step: 1, iteration: 1, attempt: 1 })!
}

/** `last` is the last message to the agent. */
export function describeChat({ id, folder, status, state, foreign }: RunBrief) {
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
    last: foreign === undefined ? lastMessageIn(folder) : null,
  }
}

function lastMessageIn(folder: string): string | null {
  return lastExchange({ path: chatPath(folder), env: {} }).person ?? null
}
