import { expect, test } from 'bun:test'
import { DIRECT, make, type Asked } from '../../../tests/support/plan.ts'

const NO_COST = (names: string) => `budgets cannot see ${names}: plain programs do not report usage`

test.each<[string, Asked, string[]]>([
  [
    'a budget of the chain over programs',
    { chain: { maxCostUsd: 1, steps: [{ agent: 'b' }, { agent: 'a' }, { agent: 'b' }] } },
    [NO_COST("'b', 'a'")],
  ],
  [
    'a budget of the command line over an agent on failure',
    {
      chain: { steps: [{ agent: 'd', onFail: { run: 'b' } }] },
      agents: { d: DIRECT },
      overrides: { budget: { tokens: 1 } },
    },
    [NO_COST("'b'")],
  ],
  [
    'a budget of one of two steps',
    { chain: { steps: [{ agent: 'a', maxTokens: 1 }, { agent: 'b' }] } },
    [NO_COST("'a'")],
  ],
  ['a limit of time', { chain: { maxDuration: '1h' } }, []],
  ['a budget of a direct agent', { agents: { a: { ...DIRECT, maxCostUsd: 1 } } }, []],
  [
    'stall outside a repository',
    { chain: { stall: 2 } },
    [
      '/project is not in a git repository: "stall" sees only tasks, gates and outcomes as progress',
    ],
  ],
  ['stall in a repository', { chain: { stall: 2 }, isInRepository: true }, []],
  ['stall of a single run', { chain: { stall: 2, steps: [{ agent: 'a' }] } }, []],
])('warnings of %s', (_, asked, warnings) => {
  expect(make(asked).warnings).toEqual(warnings)
})
