import { expect, test } from 'bun:test'
import { parseChainsFile } from '../parse/chains-file.ts'
import { isDirectSpawnAgent } from '../prompt/mode-awareness.ts'
import chainsSchema from '../../schema/chains.schema.json'
import { STARTER_CONFIGURATION, STARTER_SPECS } from './starter-files.ts'

const CHAINS = 'forge/orch/chains.json'

test('the first configuration is valid, with an agent and a chain that uses it', () => {
  const { $schema, agents = {}, chains } = parseChainsFile(STARTER_CONFIGURATION[CHAINS]!, CHAINS)
  expect(STARTER_CONFIGURATION).toHaveProperty([`forge/orch/${$schema?.replace('./', '')}`])
  const [[name, agent] = []] = Object.entries(agents)
  expect(isDirectSpawnAgent(agent!)).toBe(true)
  expect(Object.values(chains).flatMap(({ steps }) => steps.map((step) => step.agent))).toEqual([
    name!,
  ])
})

test('its schema is the one of this version', () => {
  const text = STARTER_CONFIGURATION['forge/orch/chains.schema.json']!
  expect(JSON.parse(text)).toEqual(chainsSchema)
})

test('the templates of the specs are short and say that they are to be replaced', () => {
  for (const text of Object.values(STARTER_SPECS)) {
    expect(text.split('\n').length).toBeLessThan(25)
    expect(text.replaceAll(/\s+/g, ' ')).toContain('Replace everything below.')
  }
})
