import { expect, test } from 'bun:test'
import { parseChainsFile } from '../parse/chains-file.ts'
import { isDirectSpawnAgent } from '../prompts/system-prompt.ts'
import chainsSchema from '../../../schema/chains.schema.json'
import { STARTER_CONFIGURATION, STARTER_PERSONAS } from './starter-files.ts'
import { STARTER_SPECS } from './specs.ts'
import { agentSteps } from '../parse/items.ts'

const CHAINS = 'forge/orch/chains.json'

test('the first configuration is valid, with an agent and a chain that uses it', () => {
  const { $schema, agents = {}, chains } = parseChainsFile(STARTER_CONFIGURATION[CHAINS]!, CHAINS)
  expect(STARTER_CONFIGURATION).toHaveProperty([`forge/orch/${$schema?.replace('./', '')}`])
  const [[name, agent] = []] = Object.entries(agents)
  expect(isDirectSpawnAgent(agent!)).toBe(true)
  expect(
    Object.values(chains).flatMap(({ steps }) => agentSteps(steps).map((step) => step.agent)),
  ).toEqual([name!])
})

test('its schema is the one of this version', () => {
  const text = STARTER_CONFIGURATION['forge/orch/chains.schema.json']!
  expect(JSON.parse(text)).toEqual(chainsSchema)
})

test('the spec templates are short and ask to be replaced', () => {
  for (const text of Object.values(STARTER_SPECS)) {
    expect(text.split('\n').length).toBeLessThan(25)
    expect(text.replaceAll(/\s+/g, ' ')).toContain('Replace everything below.')
  }
})

/** What each persona must contain. */
const MUSTS = {
  worker: 'Read; missing; Done; Verified; Found; Do not retry the whole task',
  'task-builder': 'prerequisites; outputs; dependencies; Break it down; Done when; `push`',
  supervisor: `in sequence; in parallel; in batches; at most 3 times; Transient; Fatal; compile error;
    failing test; missing file; started, succeeded, or failed; summary; which task failed and why;
    \`push {; \`run {; \`receive {; \`check {; \`cancel {; \`queue {`,
}

test.each(Object.entries(MUSTS))('the persona %s is short and complete', (name, musts) => {
  const text = STARTER_PERSONAS[`.agents/personas/${name}.md`]!
  expect(text.split('\n').length).toBeLessThan(60)
  const words = text.replaceAll(/\s+/g, ' ')
  const missing = musts.split(/;\s+/).filter((must) => !words.includes(must))
  expect(missing).toEqual([])
  // For agents that have only a shell.
  expect(text).toContain('forkhestra ')
})

test('no persona contains a status word', () => {
  for (const text of Object.values(STARTER_PERSONAS)) expect(text).not.toContain('ORCHESTRA_')
})
