import { describe, expect, test } from 'bun:test'
import { DIRECT, make, refusal, type Asked } from '../../../tests/support/plan.ts'
import type { ItemConfig } from '../parse/chains-schema.ts'
import { expandChain } from '../parse/items.ts'
import { applyOverrides } from './overrides.ts'
import { parsePlan } from './plan-schema.ts'
import { branchesIn, builtInVariables, stepsOf, type Node } from './plan.ts'

const inGit = (steps: readonly ItemConfig[], more: Asked = {}) =>
  make({ isInRepository: true, ...more, chain: { ...more.chain, steps: [...steps] } })

const branchesOf = (steps: readonly ItemConfig[], more: Asked = {}) =>
  branchesIn(inGit(steps, more).plan.root).map(({ id, branch }) => [id, branch] as const)

const isolations = (steps: readonly ItemConfig[], more: Asked = {}) =>
  branchesOf(steps, more).map(([id, branch]) => `${id} ${branch?.isolation}`)

const LOOP: ItemConfig = { agent: 'a', iterations: 3 }
const ONCE: ItemConfig = { agent: 'a' }
const DIRECT_ONCE: ItemConfig = { agent: 'd' }
const agents = { d: DIRECT }

describe('isolation', () => {
  test.each<[string, ItemConfig[], string[]]>([
    ['copies of a loop', [{ ...LOOP, copies: 2 }], ['s1 worktree']],
    ['copies of a program', [{ ...ONCE, copies: 2 }], ['s1 worktree']],
    ['programs that run once', [{ parallel: [ONCE, ONCE] }], ['s1 shared', 's2 shared']],
    ['a loop in parallel', [{ parallel: [ONCE, LOOP] }], ['s1 shared', 's2 worktree']],
    ['an agent in parallel', [{ parallel: [DIRECT_ONCE, ONCE] }], ['s1 worktree', 's2 shared']],
    [
      'groups in parallel',
      [{ parallel: [{ sequence: [ONCE, LOOP] }, { fallback: [ONCE, ONCE] }] }],
      ['g2 worktree', 'g3 shared'],
    ],
    [
      'copies inside a branch',
      [{ parallel: [{ sequence: [{ ...ONCE, copies: 2 }, ONCE] }] }],
      ['g2 shared', 's1 worktree'],
    ],
    [
      'copies of an item',
      [{ parallel: [{ ...ONCE, copies: 3 }, ONCE] }],
      ['s1 worktree', 's2 shared'],
    ],
    ['no branch', [ONCE, { sequence: [LOOP] }, { fallback: [LOOP, ONCE] }], []],
  ])('of %s', (_, steps, expected) => {
    expect(isolations(steps, { agents })).toEqual(expected)
  })

  test.each<[string, Asked, ItemConfig, string]>([
    ['the item', {}, { parallel: [{ ...LOOP, isolation: 'shared' }] }, 's1 shared'],
    ['its group', {}, { parallel: [LOOP], isolation: 'shared' }, 's1 shared'],
    ['the chain', { chain: { isolation: 'worktree' } }, { parallel: [ONCE] }, 's1 worktree'],
    [
      'the agent',
      { agents: { a: { isolation: 'worktree' } } },
      { parallel: [ONCE] },
      's1 worktree',
    ],
    [
      'the nearest of them',
      { chain: { isolation: 'worktree' }, agents: { a: { isolation: 'worktree' } } },
      { parallel: [{ ...ONCE, isolation: 'shared' }], isolation: 'worktree' },
      's1 shared',
    ],
  ])('is set by %s', (_, asked, item, expected) => {
    expect(isolations([item], asked)).toEqual([expected])
  })

  test('without git everything shares the folder, which is a warning', () => {
    const steps = [{ ...LOOP, copies: 2, setup: 'x' }, { parallel: [LOOP, ONCE] }]
    const { plan, warnings } = make({ chain: { steps } })
    expect(branchesIn(plan.root).map(({ branch }) => branch)).toEqual(
      Array.from({ length: 3 }, () => ({ isolation: 'shared', merge: 'rebase', verify: [] })),
    )
    expect(warnings).toEqual([
      "/project is not in a git repository: 2 copies of 'a', 'a' work in the same folder and may overwrite each other's changes",
    ])
    expect(make({ chain: { steps: [{ parallel: [ONCE, ONCE] }] } }).warnings).toEqual([])
  })

  test('a bare repository is not a reason to share the folder: the start is refused later', () => {
    const { plan } = make({ chain: { steps: [{ ...LOOP, copies: 2 }] }, isBareRepository: true })
    expect(branchesIn(plan.root)[0]!.branch?.isolation).toBe('worktree')
  })
})

describe('the other settings', () => {
  test('come from the command line, the item, its groups, the chain and the agent, in this order', () => {
    const item = { ...LOOP, copies: 2 }
    const chain = { setup: 'chain', copy: ['chain'], merge: 'merge' as const }
    const asked = { chain, agents: { a: { setup: 'agent', copy: ['agent'] } } }
    const [all] = branchesOf([{ sequence: [item], setup: 'group' }], asked)
    expect(all?.[1]).toEqual({
      isolation: 'worktree',
      setup: 'group',
      copy: ['chain'],
      merge: 'merge',
      verify: [],
    })
    const branching = { setup: 'typed', copy: [] }
    const [typed] = branchesOf([{ ...item, setup: 'own', copy: ['own'] }], { ...asked, branching })
    expect(typed?.[1]).toMatchObject({ setup: 'typed', copy: [] })
    const [own] = branchesOf([item], { agents: asked.agents })
    expect(own?.[1]).toMatchObject({ setup: 'agent', copy: ['agent'], merge: 'rebase' })
  })

  test('are not those of a worktree where the folder is shared', () => {
    const [shared] = branchesOf([{ parallel: [{ ...ONCE, setup: 'x', copy: ['y'] }] }])
    expect(shared?.[1]).toEqual({ isolation: 'shared', merge: 'rebase', verify: [] })
  })

  test('a merge is checked by the gates of all steps inside, each once', () => {
    const sequence = [{ ...LOOP, verify: ['t', 'l'] }, ONCE, { ...ONCE, verify: 't' }]
    const steps = [{ parallel: [{ sequence }, { ...LOOP, verify: 'u' }] }]
    const { plan } = inGit(steps)
    const gates = (root: Node) => branchesIn(root).map(({ branch }) => branch?.verify)
    expect(gates(plan.root)).toEqual([['t', 'l'], ['u']])
    const changed = applyOverrides(plan, { verify: ['new'] })
    expect(gates(changed.root)).toEqual([['new'], ['new']])
  })
})

test('a chain that runs inside another sets how its branches work, but not how many agents run', () => {
  const inner = { setup: 'x', maxParallel: 9, steps: [{ ...LOOP, copies: 2 }] }
  const chain = expandChain({ steps: [{ chain: 'inner' }] }, { inner })
  const { plan } = make({ isInRepository: true, chain })
  expect(plan.maxParallel).toBe(4)
  expect(branchesIn(plan.root)[0]!.branch?.setup).toBe('x')
})

describe('how many agents run at once', () => {
  test('is 4 by default, and nothing where none run in parallel', () => {
    expect(inGit([{ parallel: [ONCE, ONCE] }]).plan.maxParallel).toBe(4)
    expect(inGit([ONCE, { sequence: [LOOP] }]).plan).not.toHaveProperty('maxParallel')
  })

  test('is set by the chain and the command line', () => {
    const asked = { chain: { maxParallel: 2 } }
    const { plan } = inGit([{ ...LOOP, copies: 2 }], asked)
    expect(plan.maxParallel).toBe(2)
    expect(applyOverrides(plan, { maxParallel: 9 }).maxParallel).toBe(9)
    expect(plan.root).toEqual(applyOverrides(plan, { maxParallel: 9 }).root)
  })
})

describe('--worktree', () => {
  const branching = { isWhole: true, setup: 'npm ci' }

  test('makes the chain itself a branch, with other branches in it', () => {
    const asked = { branching, chain: { merge: 'merge' as const, verify: 't' } }
    expect(branchesOf([LOOP, { ...LOOP, copies: 2 }], asked)).toEqual([
      ['root', { isolation: 'worktree', setup: 'npm ci', merge: 'merge', verify: ['t'] }],
      ['s2', { isolation: 'worktree', setup: 'npm ci', merge: 'merge', verify: ['t'] }],
    ])
  })

  test('needs a git repository', () => {
    expect(refusal({ branching }).message).toBe('--worktree needs a git repository.')
  })
})

test('copies of copies are refused if there are too many', () => {
  const nested = (copies: number): ItemConfig => ({ sequence: [{ ...LOOP, copies: 64 }], copies })
  expect(inGit([nested(64)]).warnings).toHaveLength(1)
  expect(refusal({ chain: { steps: [ONCE, nested(64)] } }).message).toBe(
    'Counting all copies, the chain has 4097 steps; the maximum is 4096.',
  )
})

describe('a warning', () => {
  test.each<[string, Asked, ItemConfig[], string[]]>([
    [
      'of merges that nothing checks',
      {},
      [
        { ...LOOP, copies: 2 },
        { parallel: [LOOP, { ...LOOP, verify: 't' }] },
        { sequence: [{ ...LOOP, copies: 3 }], copies: 2 },
      ],
      [
        `nothing checks the merged work of 2 copies of 'a', 'a', 2 copies of group g2: add "verify" in the configuration, or --verify "npm test"`,
      ],
    ],
    [
      'of paths that do not exist',
      {},
      [{ ...LOOP, copies: 2, verify: 't', copy: ['x/.env'] }],
      ['there is no x/.env in /project to copy to the worktrees'],
    ],
    [
      'of options without effect',
      { branching: { setup: 'x', copy: [] } },
      [LOOP],
      [
        '--setup has no effect: nothing runs in its own worktree',
        '--copy has no effect: nothing runs in its own worktree',
      ],
    ],
    [
      'of fields without effect',
      {},
      [
        { ...LOOP, isolation: 'worktree', setup: 'x' },
        { sequence: [LOOP], setup: 'x' },
      ],
      [
        `"isolation" of 'a' has no effect: it does not run in parallel with others`,
        `"setup" of 'a' has no effect: it does not run in parallel with others`,
      ],
    ],
    ['is not given for checks', {}, [{ parallel: [ONCE, ONCE] }], []],
  ])('%s', (_, asked, steps, expected) => {
    expect(inGit(steps, asked).warnings).toEqual(expected)
  })
})

test('a planner in parallel with a builder does not hand over its tasks', () => {
  const facts = { isInRepository: true, agents: { planner: DIRECT, builder: DIRECT } }
  const [planner] = stepsOf(
    make({
      ...facts,
      chain: { steps: [{ parallel: [{ agent: 'planner' }, { agent: 'builder' }] }] },
    }).plan.root,
  )
  expect(planner).not.toHaveProperty('goesOnWithTasks')
})

test('${COPY} is the nearest copy around a step', () => {
  const { plan } = inGit([{ sequence: [{ ...LOOP, copies: 3 }, ONCE], copies: 2 }, ONCE])
  const [copied, inCopy, plain] = stepsOf(plan.root)
  const valuesOf = (step: Parameters<typeof builtInVariables>[1]) => {
    const values = builtInVariables(plan, step, 1)
    return `${values.get('COPY')} of ${values.get('COPIES')}`
  }
  const within = ['g1', 'c2', 'r4']
  expect(valuesOf({ ...copied!, within, copy: 3 })).toBe('3 of 3')
  expect(valuesOf({ ...inCopy!, within })).toBe('2 of 2')
  expect(valuesOf(plain!)).toBe('1 of 1')
})

test('failFast of copies is a setting of their branches', () => {
  const [copied] = branchesOf([{ ...LOOP, copies: 2, failFast: true }])
  expect(copied?.[1]?.failFast).toBe(true)
})

describe('a recorded plan', () => {
  const { plan } = inGit([{ ...LOOP, copies: 2, copy: ['.env'], setup: 'x' }, { parallel: [LOOP] }])

  test('is read as it was written', () => {
    expect(parsePlan(JSON.parse(JSON.stringify(plan)))).toEqual({ plan })
  })

  test.each<[string, (text: string) => string, string]>([
    ['copies', (text) => text.replace('"copies":2', '"copies":65'), 'root.of[0].copies'],
    [
      'isolation',
      (text) => text.replace('"isolation":"worktree"', '"isolation":"none"'),
      'root.of[0].branch.isolation',
    ],
    ['copy', (text) => text.replace('".env"', '"../.env"'), 'root.of[0].branch.copy[0]'],
    ['agents at once', (text) => text.replace('"maxParallel":4', '"maxParallel":0'), 'maxParallel'],
  ])('is refused if its %s cannot be right', (_, change, wrong) => {
    expect(parsePlan(JSON.parse(change(JSON.stringify(plan))))).toEqual({ wrong })
  })
})
