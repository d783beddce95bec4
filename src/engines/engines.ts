import { binaryEngine } from './binary.ts'
import { claudeEngine } from './claude.ts'
import type { Launch, ResolvedAgent, Turn } from './engine.ts'
import { nativeEngine } from './native.ts'

/** Asks the engine of the agent's kind how to call it. */
export function prepareLaunch(agent: ResolvedAgent, turn: Turn): Launch {
  switch (agent.engine) {
    case 'binary':
      return binaryEngine.prepare(agent, turn)
    case 'claude':
      return claudeEngine.prepare(agent, turn)
    case 'native':
      return nativeEngine.prepare(agent, turn)
  }
}
