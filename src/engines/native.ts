import { UserError } from '../base/errors.ts'
import type { Engine, LoopLaunch, NativeAgent } from './engine.ts'

/** The agent that needs no coding CLI: this process talks to the model itself. */
export const nativeEngine: Engine<NativeAgent, LoopLaunch> = {
  prepare(agent, turn) {
    const [arg] = turn.args
    if (arg !== undefined) {
      throw new UserError(
        `The agent '${agent.name}' takes no arguments, and got ${JSON.stringify(arg)}.`,
        'It has no program that could read them: say it in the prompt, or in the configuration.',
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
}
