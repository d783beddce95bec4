import { binaryEngine } from './program/engine.ts'
import { claudeEngine } from './claude/engine.ts'
import type { Launch, ResolvedAgent, Turn } from './engine.ts'
import { nativeEngine } from './native/engine.ts'

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
