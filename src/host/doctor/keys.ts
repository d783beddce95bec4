import { UserError } from '../../base/errors.ts'
import type { NativeAgent } from '../../engines/engine.ts'
import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
import { makeNativeAgent } from '../../chain/plan/native-agent.ts'
import { keyVariables } from '../../engines/native/model-names.ts'
import { ok, problem, type Check, type Place } from './check.ts'

/** Whether the agents that forkhestra plays itself have keys. Nothing of a key is part of a text. */
export function checkKeys({ agents = {} }: ChainsConfig, { env }: Place): Check[] {
  const native = Object.entries(agents).flatMap(([name, config]) =>
    config.engine === 'native' ? (asNative(name, config) ?? []) : [],
  )
  if (native.length === 0) return []
  const isSet = (name: string, agent: NativeAgent) =>
    Boolean((agents[agent.name]?.env?.[name] ?? env[name])?.trim())
  const missing = native.flatMap((agent) => {
    const names = keyVariables(agent)
    const isOpen = names.length === 0 || names.some((name) => isSet(name, agent))
    return isOpen ? [] : [{ agent, names }]
  })
  if (missing.length === 0) return [ok('keys', describeKeys(native))]
  const words = missing.map(({ agent, names }) => `${agent.name}: ${names.join(' or ')} is not set`)
  const [first] = missing[0]!.names
  return [problem('keys', words.join('\n'), `Set it: export ${first}=…`)]
}

/** Broken agents are reported by the configuration check. */
function asNative(name: string, config: Parameters<typeof makeNativeAgent>[2]) {
  try {
    return makeNativeAgent(name, [], config, undefined)
  } catch (error) {
    if (error instanceof UserError) return undefined
    throw error
  }
}

function describeKeys(native: readonly NativeAgent[]): string {
  const names = [...new Set(native.flatMap(keyVariables))]
  if (names.length === 0) return 'native agents need none'
  const agents = native.map(({ name }) => name).join(', ')
  return `set for ${agents}; not verified`
}
