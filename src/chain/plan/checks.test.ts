import { expect, test } from 'bun:test'
import { DIRECT, make, refusal } from '../../../tests/support/plan.ts'
import { stepsOf } from './plan.ts'

const step = (prompt: string) => ({ chain: { steps: [{ agent: 'a', prompt }] } })

test.each([
  ['Go.\n/push name=x agent=gone y\n/push agent=gone z\n/push agent=b ok', "2, task 'x'"],
  ['/push "Go.\\n/push agent=gone z"', '1, task:2, task'],
])('an unknown agent of a task is refused with its place: %j', (prompt, place) => {
  expect(refusal(step(prompt)).problems.map(({ message }) => message)).toEqual([
    `the prompt of step 1:${place}  Agent not found: gone`,
  ])
})

test('a prompt shared by several steps is reported once', () => {
  const steps = [{ agent: 'a' }, { agent: 'b' }]
  expect(refusal({ chain: { prompt: '/push "', steps } }).message).toMatch(
    /^the prompt of the chain:1:7 {2}The quote " is never closed\.\n[^\n]+\n +\^$/,
  )
  const agents = { a: { defaultPrompt: '/run x' } }
  expect(refusal({ agents }).message).toStartWith('the default prompt of a:1:6  The number')
})

test('a task can use an agent of the configuration', () => {
  const { plan } = make({ ...step('/push agent=mine y'), agents: { mine: DIRECT } })
  expect(stepsOf(plan.root)).toHaveLength(1)
})

test('problems of several prompts are reported at once', () => {
  const steps = [
    { agent: 'a', prompt: 'Go.\n/read x' },
    { agent: 'a', prompt: '/push retry=no x' },
  ]
  expect(refusal({ chain: { steps } }).problems.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the prompt of step 1:2:1 {2}\/read is not allowed after the content/),
    expect.stringMatching(/^the prompt of step 2:1:13 {2}retry is "no"/),
  ])
})
