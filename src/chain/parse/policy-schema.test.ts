import { describe, expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { parseChainsFile } from './chains-file.ts'

function problems(text: string): string[] {
  try {
    parseChainsFile(text, 'f')
  } catch (error) {
    if (error instanceof UserError) return error.problems.map(({ message }) => message)
    throw error
  }
  return []
}

/** Expects one problem, at the place marked by `¶`. */
function expectProblem(marked: string, problem: string): void {
  const place = `f:1:${marked.indexOf('¶') + 1}`
  expect(problems(marked.replace('¶', ''))).toEqual([`${place}  ${problem}`])
}

const inStep = (fields: string) =>
  `{ "chains": { "c": { "steps": [{ "agent": "x", ${fields} }] } } }`

const EVERYTHING = {
  verify: ['npm test', 'npm run lint'],
  until: 'test -f done',
  timeout: '30m',
  idleTimeout: 'off',
  maxCostUsd: 2.5,
  maxTokens: 1_000_000,
  maxDuration: '1h30m',
  retry: { for: '2h', backoff: '10s', maxBackoff: '10m' },
  maxWait: '6h',
  stall: 0,
  onFail: { goto: 1, times: 2 },
  when: 'true',
  hooks: { beforeStep: 'a', afterIteration: 'b', afterStep: 'c', onWait: 'd' },
  env: { A_1: 'x', _b: '' },
  grace: { marker: '60s', term: '0s' },
  rawPrompt: false,
  readLimit: 1,
  readRoots: ['lib', '../x'],
}

describe('what is accepted', () => {
  test('every field is kept unchanged on a step, a chain and an agent', () => {
    const hooks = { ...EVERYTHING.hooks, afterRun: 'e' }
    const config = {
      agents: { a: { ...EVERYTHING, userSettings: false, queue: true } },
      chains: { c: { ...EVERYTHING, hooks, steps: [{ agent: 'a', name: 'x y', ...EVERYTHING }] } },
    }
    expect(parseChainsFile(JSON.stringify(config), 'f')).toEqual(config)
  })

  test.each([
    '"verify": "npm test"',
    '"timeout": "off"',
    '"timeout": "1.5h"',
    '"retry": { "attempts": 0 }',
    '"retry": { "for": "0s" }',
    '"maxWait": "0s"',
    '"grace": { "marker": "0s" }',
    '"onFail": "stop"',
    '"onFail": "continue"',
    '"onFail": { "goto": "1" }',
    '"onFail": { "run": "./medic" }',
    '"name": "2nd", "onFail": { "goto": "2nd" }',
  ])('%s is accepted', (fields) => {
    expect(problems(inStep(fields))).toEqual([])
  })
})

const TIME = 'a duration greater than zero such as "30m" or "1h30m"'
const COST = 'an amount in US dollars greater than 0'
const WHOLE = 'a whole number, 0 or more'
const NAME = 'a name that is not a number, without spaces around it or control characters'
const VARIABLE = 'a name of letters, digits and _ that does not begin with a digit'
const ON_FAIL = '"stop", "continue", { "goto": "step", "times": 2 } or { "run": "agent" }'

test.each([
  ['"verify": ¶[]', 'verify is an empty list, expected at least one command'],
  ['"verify": ¶" "', 'verify is " ", expected a command that is not empty'],
  ['"verify": ¶7', 'verify is 7, expected a command or a list of at least one command'],
  ['"until": ¶""', 'until is "", expected a command that is not empty'],
  ['"when": ¶true', 'when is true, expected a command'],
  ['"timeout": ¶30', `timeout is 30, expected ${TIME}, or "off"`],
  ['"timeout": ¶"30"', `timeout is "30", expected ${TIME}, or "off"`],
  ['"idleTimeout": ¶"0s"', `idleTimeout is "0s", expected ${TIME}, or "off"`],
  ['"maxDuration": ¶"off"', `maxDuration is "off", expected ${TIME}`],
  ['"maxDuration": ¶"0m0s"', `maxDuration is "0m0s", expected ${TIME}`],
  ['"maxDuration": ¶"9999d"', 'maxDuration is "9999d", expected a duration of at most ten years'],
  ['"maxWait": ¶"1 h"', 'maxWait is "1 h", expected a duration such as "30m" or "1h30m"'],
  ['"maxCostUsd": ¶0', `maxCostUsd is 0, expected ${COST}`],
  ['"maxCostUsd": ¶"5"', `maxCostUsd is "5", expected ${COST}`],
  ['"maxTokens": ¶0', 'maxTokens is 0, expected a positive integer'],
  ['"stall": ¶-1', `stall is -1, expected ${WHOLE}`],
  ['"stall": ¶1.5', `stall is 1.5, expected ${WHOLE}`],
  [
    '"retry": ¶{ "for": "1h", "attempts": 2 }',
    'retry is an object, expected either "for" or "attempts", not both',
  ],
  ['"retry": { "backoff": ¶"0s" }', `retry.backoff is "0s", expected ${TIME}`],
  ['"retry": { ¶"attempt": 2 }', "retry.attempt is unknown (did you mean 'attempts'?)"],
  [
    '"retry": ¶"2h"',
    'retry is "2h", expected an object such as { "for": "2h" } or { "attempts": 5 }',
  ],
  ['"onFail": ¶"retry"', `onFail is "retry", expected ${ON_FAIL}`],
  ['"onFail": ¶{}', `onFail is an object, expected ${ON_FAIL}`],
  ['"onFail": ¶{ "goto": 1, "run": "x" }', `onFail is an object, expected ${ON_FAIL}`],
  ['"onFail": { "goto": 1, ¶"time": 2 }', "onFail.time is unknown (did you mean 'times'?)"],
  ['"onFail": { "goto": ¶2 }', 'onFail.goto is 2, expected 1'],
  [
    '"hooks": { ¶"afterRun": "x" }',
    'hooks.afterRun is unknown; known: beforeStep, afterIteration, afterStep, onWait',
  ],
  ['"hooks": { "onWait": ¶1 }', 'hooks.onWait is 1, expected a command'],
  ['"env": ¶[]', 'env is an empty list, expected an object that maps names to strings'],
  ['"env": { "A": ¶1 }', 'env.A is 1, expected a string'],
  ['"env": { "a-b": ¶"1" }', `env.a-b is "1", expected ${VARIABLE}`],
  ['"grace": { "term": ¶"x" }', 'grace.term is "x", expected a duration such as "30m" or "1h30m"'],
  ['"name": ¶"12"', `name is "12", expected ${NAME}`],
  ['"name": ¶" a"', `name is " a", expected ${NAME}`],
  ['"name": ¶""', `name is "", expected ${NAME}`],
  ['"name": ¶"a\\u001b"', `name is "a\\u001b", expected ${NAME}`],
])('a step with %s is refused', (fields, problem) => {
  expectProblem(inStep(fields), `chains.c.steps[0].${problem}`)
})

test('userSettings of an agent is true or false', () => {
  const text = '{ "agents": { "a": { "userSettings": ¶"no" } }, "chains": {} }'
  expectProblem(text, 'agents.a.userSettings is "no", expected true or false')
})

test('a duplicate step name is refused', () => {
  const steps = '[{ "agent": "x", "name": "a" }, { "agent": "x", "name": ¶"a" }]'
  expectProblem(
    `{ "chains": { "c": { "steps": ${steps} } } }`,
    'chains.c.steps[1].name is "a", expected a unique step name',
  )
})

test.each([
  ['"nowhere"', '"fix", "last one" or a number from 1 to 3'],
  ['0', '"fix", "last one" or a number from 1 to 3'],
  ['4', '"fix", "last one" or a number from 1 to 3'],
])('goto to a step %s that does not exist is refused on a step and on a chain', (to, words) => {
  const names = '{ "agent": "x", "name": "fix" }, { "agent": "x", "name": "last one" }'
  const goto = `"onFail": { "goto": ¶${to} }`
  expectProblem(
    `{ "chains": { "c": { "steps": [{ "agent": "x", ${goto} }, ${names}] } } }`,
    `chains.c.steps[0].onFail.goto is ${to}, expected ${words}`,
  )
  expectProblem(
    `{ "chains": { "c": { "steps": [{ "agent": "x" }, ${names}], ${goto} } } }`,
    `chains.c.onFail.goto is ${to}, expected ${words}`,
  )
})
