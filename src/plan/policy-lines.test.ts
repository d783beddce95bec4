import { expect, test } from 'bun:test'
import { DIRECT, make, type Asked } from '../../tests/support/plan.ts'
import type { PolicyConfig } from '../parse/policy-schema.ts'
import { stepsOf } from './plan.ts'
import { chainLines, stepLines } from './policy-lines.ts'

interface Line {
  readonly label: string
  readonly words: string
}
const render = (lines: readonly Line[]) => lines.map(({ label, words }) => `${label}: ${words}`)

function linesFor(asked: Asked, { isComplete = false, step = 0 } = {}): string[] {
  const { plan } = make(asked)
  const { isInRepository = false } = asked
  return render(stepLines(stepsOf(plan.root)[step]!, plan, { isInRepository, isComplete }))
}

test('what is usual is not shown', () => {
  expect(linesFor({})).toEqual([])
  expect(linesFor({ agents: { a: DIRECT }, isInRepository: true })).toEqual([])
  expect(linesFor({ chain: { timeout: '240m', onFail: 'stop' } })).toEqual([])
})

test('everything is shown where everything is asked for', () => {
  const usual = [
    'time limit: 4 h',
    'silence limit: off',
    'retry: for 2 h, after 10 s up to 10 min',
    'longest wait: 6 h',
    'stall: off',
    'on failure: stop',
    'grace: 60 s after the marker, 10 s after a signal',
  ]
  expect(linesFor({}, { isComplete: true })).toEqual(usual)
  const once = { chain: { steps: [{ agent: 'a' }] } }
  expect(linesFor(once, { isComplete: true })).toEqual(
    usual.filter((line) => line !== 'stall: off'),
  )
})

test.each<[PolicyConfig, string[]]>([
  [{ verify: ['npm test', 'npm run lint'] }, ['verify: npm test', 'verify: npm run lint']],
  [{ until: 'test -f done' }, ['until: test -f done']],
  [{ when: 'true' }, ['when: true']],
  [{ timeout: '150s' }, ['time limit: 2 min 30 s']],
  [{ timeout: 'off' }, ['time limit: off']],
  [{ idleTimeout: '90s' }, ['silence limit: 90 s']],
  [{ idleTimeout: '1d1ms' }, ['silence limit: 24 h 1 ms']],
  [{ maxCostUsd: 5, maxDuration: '1h30m' }, ['budget: $5.00, 1 h 30 min']],
  [{ maxCostUsd: 0.005, maxTokens: 2_000_000 }, ['budget: $0.0050, 2,000,000 tokens']],
  [{ retry: { attempts: 0 } }, ['retry: never']],
  [{ retry: { for: '0s' } }, ['retry: never']],
  [{ retry: { attempts: 1, backoff: '1s' } }, ['retry: never']],
  [{ retry: { attempts: 3, backoff: '1s' } }, ['retry: 3 attempts, after 1 s up to 10 min']],
  [{ maxWait: '0s' }, ['longest wait: 0 s']],
  [{ stall: 1 }, ['stall: after 1 iteration without progress']],
  [{ onFail: 'continue' }, ['on failure: go on with the next step']],
  [{ onFail: { goto: 2 } }, ['on failure: go to step 2 (fix), at most once']],
  [{ onFail: { goto: 3, times: 2 } }, ['on failure: go to step 3 (b), at most 2 times']],
  [{ onFail: { run: 'medic' } }, ['on failure: run step 4 (medic)']],
  [{ hooks: { onWait: 'beep' } }, ['hook onWait: beep']],
  [{ env: { A_KEY: 'secret', B: '' } }, ['env: A_KEY, B']],
  [{ grace: { marker: '0s' } }, ['grace: 0 s after the marker, 10 s after a signal']],
])('%j is shown as %j', (fields, lines) => {
  const first = { agent: 'a', iterations: 2, ...fields }
  const steps = [first, { agent: 'a', name: 'fix' }, { agent: 'b' }]
  expect(linesFor({ chain: { steps } })).toEqual(lines)
  expect(linesFor({ chain: { steps } }, { step: 1 })).toEqual(['name: fix'])
})

test('what holds for the chain as a whole is apart', () => {
  const chain = { when: 'true', maxTokens: 5, hooks: { afterRun: 'beep' } }
  expect(render(chainLines(make({ chain }).plan))).toEqual([
    'when: true',
    'budget: 5 tokens',
    'hook afterRun: beep',
  ])
  expect(linesFor({ chain })).toEqual([])
  expect(chainLines(make({}).plan)).toEqual([])
})
