import { expect, test } from 'bun:test'
import { UserError } from '../base/errors.ts'
import { getChain } from './chains.ts'

const steps = [{ agent: 'x' }]
const CHAINS = { build: { description: 'Builds all', steps }, plan: { steps } }

test('a chain is found by its name', () => {
  expect(getChain(CHAINS, 'plan')).toBe(CHAINS.plan)
})

test.each([
  [CHAINS, 'biuld', "There is no chain 'biuld' (did you mean 'build'?)"],
  [CHAINS, 'constructor', "There is no chain 'constructor'."],
  [{}, 'build', "There is no chain 'build'."],
])('in %j there is no chain %s', (chains, name, message) => {
  expect(() => getChain(chains, name)).toThrow(message)
})

test.each([
  [CHAINS, 'Available chains:\n  build: Builds all\n  plan'],
  [{}, 'The configuration defines no chains; add one to forge/orch/chains.json.'],
])('the hint lists the chains of %j', (chains, hint) => {
  try {
    getChain(chains, 'x')
    expect.unreachable()
  } catch (error) {
    expect(error).toBeInstanceOf(UserError)
    expect((error as UserError).hint).toBe(hint)
  }
})
