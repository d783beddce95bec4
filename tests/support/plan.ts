import { UserError } from '../../src/base/errors.ts'
import type { AgentConfig, ChainConfig } from '../../src/chain/parse/chains-schema.ts'
import type { Facts } from '../../src/chain/plan/facts.ts'
import { makePlan } from '../../src/chain/plan/make-plan.ts'
import type { Request } from '../../src/chain/plan/request.ts'
import type { Overrides } from '../../src/chain/plan/overrides.ts'
import { stepsOf } from '../../src/chain/plan/plan.ts'

/** A machine that has every program except 'gone'. */
const FACTS: Facts = {
  programAt: (path) => ({ kind: 'program', path }),
  programOnPath: (name) =>
    name === 'gone' ? { kind: 'missing' } : { kind: 'program', path: `/bin/${name}` },
  searchPath: [],
  mustAsk: false,
  isOwnProgram: () => false,
  isInRepository: () => false,
  isBareRepository: () => false,
  hasVariable: () => false,
  fileExists: () => false,
  readPrompt: () => '',
  agentFiles: () => ({ agents: new Map(), problems: [] }),
  namesIn: () => [],
  userAgentFiles: () => ({ agents: new Map(), problems: [] }),
}

export const DIRECT: AgentConfig = { systemPromptText: 'You build.' }

export interface Asked {
  readonly chain?: Partial<ChainConfig>
  readonly agents?: Record<string, AgentConfig>
  readonly overrides?: Overrides
  readonly isInRepository?: boolean
  readonly isBareRepository?: boolean
  readonly branching?: Request['branching']
  readonly configuration?: Request['configuration']
}

/** Plans a chain 'c' of one looping program 'a', with these changes. */
export function make({
  chain,
  agents = {},
  overrides,
  isInRepository = false,
  isBareRepository = false,
  branching,
  configuration,
}: Asked) {
  const request: Request = {
    run: 'r1',
    cwd: '/project',
    name: 'c',
    chain: { steps: [{ agent: 'a', iterations: 3 }], ...chain },
    agents,
    base: '/project',
    agentBase: '/project',
    variables: new Map(),
    args: [],
    cliPrompt: {},
    ...(overrides === undefined ? {} : { overrides }),
    ...(branching === undefined ? {} : { branching }),
    ...(configuration === undefined ? {} : { configuration }),
  }
  const repository = {
    isInRepository: () => isInRepository,
    isBareRepository: () => isBareRepository,
  }
  const facts = { ...FACTS, ...repository }
  const { plan, warnings } = makePlan(request, facts)
  return { plan, warnings, policies: stepsOf(plan.root).map(({ policy }) => policy) }
}

export function refusal(asked: Asked): UserError {
  try {
    make(asked)
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('was not refused')
}
