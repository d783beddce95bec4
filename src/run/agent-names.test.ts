import { expect, test } from 'bun:test'
import type { GroupNode, Node, StepNode } from '../chain/plan/plan.ts'
import { agentNameOf, agentsInBranches } from './agent-names.ts'

let numbers = 0

function step(agent: string, more: Partial<StepNode> = {}): StepNode {
  numbers += 1
  const about = { kind: 'step', id: `s${numbers}`, number: numbers, agent: { name: agent } }
  return { ...about, ...more } as unknown as StepNode
}

function group(id: string, kind: GroupNode['kind'], of: Node[], copies?: number): GroupNode {
  return { id, kind, of, ...(copies === undefined ? {} : { copies }) }
}

function planOf(make: () => Node[]) {
  numbers = 0
  return { root: group('root', 'sequence', make()), recoveries: [] }
}

const namesOf = (make: () => Node[]) => Object.fromEntries(agentsInBranches(planOf(make)))

test('steps outside of branches are main', () => {
  const plan = planOf(() => [
    step('plan'),
    group('g1', 'sequence', [step('build'), step('review')]),
  ])
  expect(agentsInBranches(plan).size).toBe(0)
  expect(agentNameOf(plan, { id: 's2', number: 2, within: ['g1', 'r2'] })).toBe('main')
})

test('copies have their number, items of a parallel group their name', () => {
  const plan = planOf(() => [
    step('plan'),
    step('./bin/build', { copies: 2 }),
    group('g1', 'parallel', [step('lint'), step('docs')]),
  ])
  expect(Object.fromEntries(agentsInBranches(plan))).toEqual({
    's2/c1': 'build#1',
    's2/c2': 'build#2',
    'g1/s3': 'lint',
    'g1/s4': 'docs',
  })
  expect(agentNameOf(plan, { id: 's1', number: 1 })).toBe('main')
  expect(agentNameOf(plan, { id: 's2', number: 2, within: [], copy: 2 })).toBe('build#2')
  expect(agentNameOf(plan, { id: 's4', number: 4, within: ['g1', 'r3'] })).toBe('docs')
})

test('each step of a branch has a name of its own, nested copies have all numbers', () => {
  const inner = () => [step('build', { copies: 2 }), step('review')]
  expect(namesOf(() => [group('g1', 'sequence', inner(), 2)])).toEqual({
    'g1/c1/s1/c1': 'build#1.1',
    'g1/c1/s1/c2': 'build#1.2',
    'g1/c2/s1/c1': 'build#2.1',
    'g1/c2/s1/c2': 'build#2.2',
    'g1/c1/s2': 'review#1',
    'g1/c2/s2': 'review#2',
  })
})

test.each<[string[], string[]]>([
  [
    ['main', 'x'],
    ['main.2', 'x'],
  ],
  [
    ['a b', 'a,b', 'a-b'],
    ['a-b', 'a-b.2', 'a-b.3'],
  ],
  [
    ['./a', './b/a'],
    ['a.1', 'a.2'],
  ],
  [
    ['fk:builder', '  '],
    ['fk:builder', 'agent'],
  ],
  [
    ['Übung', '任务'],
    ['Übung', '任务'],
  ],
])('the names of %j are unique and can be used in lists: %j', (agents, expected) => {
  const names = namesOf(() => [
    group(
      'g1',
      'parallel',
      agents.map((each) => step(each)),
    ),
  ])
  expect(Object.values(names)).toEqual(expected)
})
