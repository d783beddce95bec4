import { UserError } from '../../base/errors.ts'
import type { Engine, LoopLaunch, NativeAgent } from '../engine.ts'
import { findModel, parseModel } from './model-names.ts'
import { toolNames } from './tool-sets.ts'

/** The built-in agent: this process calls the model itself, without a coding CLI. */
export const nativeEngine: Engine<NativeAgent, LoopLaunch> = {
  prepare(agent, turn) {
    const [arg] = turn.args
    if (arg !== undefined) {
      throw new UserError(
        `Agent '${agent.name}' takes no arguments, but got '${arg}'.`,
        'Native agents have no command line. Put it into the prompt or the configuration.',
      )
    }
    const { model, maxTurns, baseUrl } = agent
    const argv = [
      'native',
      '--model',
      model,
      ...(baseUrl === undefined ? [] : ['--base-url', baseUrl]),
      '--max-turns',
      String(maxTurns),
      ...(turn.queue === undefined ? [] : ['--queue']),
      ...(turn.prompt === undefined ? [] : ['--', turn.prompt]),
    ]
    return { kind: 'loop', agent, turn, argv, isStructured: true }
  },
  limitScope: ({ provider, baseUrl, apiKeyEnv }) => JSON.stringify([provider, baseUrl, apiKeyEnv]),
  withModel(agent, model) {
    const { provider } = agent
    // A model name without a provider uses the agent's provider.
    const isBare = !model.includes('/') || provider === 'compatible'
    const named = findModel(model) ?? parseModel(isBare ? `${provider}/${model}` : model)
    return { ...agent, ...named }
  },
  describeTools: (agent, hasQueue) => toolNames(agent, hasQueue).join(', ') || 'none',
}
