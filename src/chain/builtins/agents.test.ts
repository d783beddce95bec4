import { expect, test } from 'bun:test'
import { parseChainsFile } from '../parse/chains-file.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS, promptFiles } from './agents.ts'
import { BUILT_IN_CHAINS } from './chains.ts'
import { agentSteps } from '../parse/items.ts'

test('the built-in agents have the limits and tools of the contract', () => {
  const rows = Object.entries(BUILT_IN_AGENTS).map(([name, agent]) => {
    return [name, agent.model, agent.maxTurns, agent.allowedTools?.join(' ') ?? 'all', agent.specs]
  })
  const specs = 'forge/orch/specs'
  expect(rows).toEqual([
    ['planner', 'sonnet', 50, 'Read Grep Glob Bash', specs],
    ['builder', 'sonnet', 100, 'all', specs],
    ['reviewer', 'sonnet', 50, 'all', specs],
    ['fk:planner', 'sonnet', 50, 'Read Grep Glob Bash', 'ralph'],
    ['fk:builder', 'sonnet', 100, 'all', 'ralph'],
    ['fk:reviewer', 'sonnet', 50, 'all', 'ralph'],
  ])
})

test('built-in agents and chains are valid configuration', () => {
  const agents = Object.entries({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }).map(
    ([name, { prompt, model, maxTurns, allowedTools }]) => {
      return [name, { systemPromptText: prompt, model, maxTurns, allowedTools }] as const
    },
  )
  const config = { agents: Object.fromEntries(agents), chains: BUILT_IN_CHAINS }
  expect(parseChainsFile(JSON.stringify(config), 'chains.json')).toEqual(config as ChainsConfig)
})

test('only planners need specs, and only builders finish tasks', () => {
  const namesOf = (field: 'plans' | 'finishesTasks') =>
    Object.keys(BUILT_IN_AGENTS).filter((name) => BUILT_IN_AGENTS[name]![field])
  expect(namesOf('plans')).toEqual(['planner', 'fk:planner'])
  expect(namesOf('finishesTasks')).toEqual(['builder', 'fk:builder'])
})

test('the bundled agents have a long and a short name', () => {
  const names = ['manager', 'coordinator', 'worker']
  for (const name of names)
    expect(BUNDLED_AGENTS[`task-${name}`]).toBe(BUNDLED_AGENTS[`forge-task-${name}`])
  expect(Object.keys(BUNDLED_AGENTS)).toHaveLength(2 * names.length)
})

test('each prompt can be replaced by its own file', () => {
  const folder = 'forge/orch/prompts'
  expect([...promptFiles().keys()]).toEqual([
    `${folder}/planner.md`,
    `${folder}/builder.md`,
    `${folder}/reviewer.md`,
    `${folder}/fk/planner.md`,
    `${folder}/fk/builder.md`,
    `${folder}/fk/reviewer.md`,
    `${folder}/forge-task-manager.md`,
    `${folder}/forge-task-coordinator.md`,
    `${folder}/forge-task-worker.md`,
  ])
})

test('the built-in chains are those of the contract, with descriptions', () => {
  const rows = Object.entries(BUILT_IN_CHAINS).map(([name, { steps }]) => {
    return `${name}: ${agentSteps(steps)
      .map(({ agent, iterations }) => `${agent}:${iterations}`)
      .join(' -> ')}`
  })
  expect(rows).toEqual([
    'build-all: planner:3 -> builder:20',
    'build: builder:30',
    'plan: planner:5',
    'ralph: fk:planner:3 -> fk:builder:20',
  ])
  for (const { description = '', steps } of Object.values(BUILT_IN_CHAINS)) {
    expect(description).not.toBe('')
    for (const { agent } of agentSteps(steps)) expect(Object.keys(BUILT_IN_AGENTS)).toContain(agent)
  }
})
