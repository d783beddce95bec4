import type { MaskStream } from '../base/secrets/mask.ts'
import type { Fact, LoopLaunch } from '../engines/engine.ts'
import type { NativeTurn } from './native-turn.ts'
import { makeIo } from './native-turn.ts'
import type { LoopHands } from './loop.ts'
import type { Person } from './run-chat.ts'

/** For a run without secrets. */
const OPEN: MaskStream = { push: (bytes) => bytes, end: () => new Uint8Array(0) }

const QUIET: LoopHands = {
  end: new AbortController().signal,
  spent: new AbortController().signal,
  alive: () => undefined,
}

/** A turn of a chat in place of a conversation of its own; the person hears the answer in pieces. */
export function chatTurn(person: Pick<Person, 'hear' | 'hearAnew'>) {
  return async function* (
    launch: LoopLaunch,
    turn: NativeTurn,
    hands: LoopHands,
  ): AsyncGenerator<Fact> {
    const { runChatTurn } = await import('../native/chat-turn.ts')
    const mask = turn.ports.maskStream?.() ?? OPEN
    yield* runChatTurn(launch, chatIo(turn, hands), { person, mask }, hands.end)
  }
}

/** Puts files into the conversation of a chat without asking the model anything. */
export async function keepReads(launch: LoopLaunch, turn: NativeTurn): Promise<void> {
  const { hearReads } = await import('../native/chat-turn.ts')
  await hearReads(launch, chatIo(turn, QUIET))
}

/** All turns of all sessions are one conversation. */
function chatIo(turn: NativeTurn, hands: LoopHands) {
  const { round: _, ...place } = turn.place
  const first = { ...place, iteration: 1, attempt: 1 }
  return { ...makeIo({ ...turn, place: first }, hands), mayGoOn: 'always' as const }
}
