import { UserError } from '../base/errors.ts'
import type { ChainConfig, StepConfig } from '../parse/chains-schema.ts'
import type { OnFailConfig } from '../parse/policy-schema.ts'
import { findStep, targetWords } from '../parse/step-targets.ts'
import type { PolicyLevels } from './make-policy.ts'
import type { OnFail } from './policy.ts'

interface Levels extends PolicyLevels {
  readonly step: StepConfig
  readonly chain: ChainConfig
  /** Of the chain, for messages. */
  readonly name: string | undefined
}

/** What a step does where it is not complete; `planRecovery` gives the number of an agent to run. */
export function makeOnFail(levels: Levels, planRecovery: (agent: string) => number): OnFail {
  const config = chooseOnFail(levels)
  if (typeof config === 'string') return { kind: config }
  if ('run' in config) return { kind: 'run', step: planRecovery(config.run) }
  const { chain, step, name } = levels
  const target = findStep(config.goto, chain.steps)
  if (target !== undefined) return { kind: 'goto', step: target, times: config.times ?? 1 }
  const place = name === undefined ? 'the chain' : `chain '${name}'`
  throw new UserError(
    `On failure '${step.agent}' goes to step '${config.goto}', which ${place} does not have.`,
    `Write ${targetWords(chain.steps)}.`,
  )
}

export function chooseOnFail({ step, chain, agent }: PolicyLevels): OnFailConfig {
  return step.onFail ?? chain.onFail ?? agent.onFail ?? 'stop'
}
