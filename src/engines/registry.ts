import { claudeEngine } from './claude/engine.ts'
import type { Engine, Launch, ResolvedAgent } from './engine.ts'
import { nativeEngine } from './native/engine.ts'
import { binaryEngine } from './program/engine.ts'

const ENGINES = { binary: binaryEngine, claude: claudeEngine, native: nativeEngine }

export function engineOf<Agent extends ResolvedAgent>({ engine }: Agent): Engine<Agent, Launch> {
  // The compiler does not see that agent and engine belong together.
  return ENGINES[engine] as unknown as Engine<Agent, Launch>
}
