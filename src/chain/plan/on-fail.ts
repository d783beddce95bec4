import { UserError } from '../../base/errors.ts'
import type { ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import type { OnFailConfig } from '../parse/policy-schema.ts'
import { findStep, describeTargets } from '../parse/step-targets.ts'
import type { PolicyLevels } from './make-policy.ts'
import type { OnFail } from './policy.ts'

interface Levels extends PolicyLevels {
  readonly step: StepConfig
  readonly chain: ChainConfig
  /** The name of the chain, for messages. */
  readonly name: string | undefined
}

/** What happens if a step is not complete; `planRecovery` returns the number of a recovery agent. */
export function makeOnFail(levels: Levels, planRecovery: (agent: string) => number): OnFail {
  const config = chooseOnFail(levels)
  if (typeof config === 'string') return { kind: config }
  if ('run' in config) return { kind: 'run', step: planRecovery(config.run) }
  const { chain, step, name } = levels
  const target = findStep(config.goto, chain.steps)
  if (target !== undefined) return { kind: 'goto', step: target, times: config.times ?? 1 }
  const place = name === undefined ? 'the chain' : `chain '${name}'`
  throw new UserError(
    `"onFail" of '${step.agent}' goes to step '${config.goto}', which does not exist in ${place}.`,
    `Write ${describeTargets(chain.steps)}.`,
  )
}

export function chooseOnFail({ step, chain, agent }: PolicyLevels): OnFailConfig {
  return step.onFail ?? chain.onFail ?? agent.onFail ?? 'stop'
}
