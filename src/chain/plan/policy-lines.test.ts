import { expect, test } from 'bun:test'
import { DIRECT, make, type Asked } from '../../../tests/support/plan.ts'
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

const USUAL = 'limits: 4 h per iteration, retries for 2 h, waits up to 6 h'

test('of the defaults, only the limits are shown, in one line', () => {
  expect(linesFor({})).toEqual([USUAL])
  expect(linesFor({ agents: { a: DIRECT }, isInRepository: true })).toEqual([
    'limits: 4 h per iteration, 30 min of silence, 3 iterations without progress, retries for 2 h, waits up to 6 h',
  ])
  expect(linesFor({ chain: { timeout: '240m', onFail: 'stop' } })).toEqual([USUAL])
  expect(linesFor({ chain: { steps: [{ agent: 'a' }] } })).toEqual([
    'limits: 4 h, retries for 2 h, waits up to 6 h',
  ])
})

test('everything is shown on request', () => {
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

const LIMITS: [PolicyConfig, string, string][] = [
  [{ timeout: '150s' }, '2 min 30 s per iteration, retries', 'time limit: 2 min 30 s'],
  [{ timeout: 'off' }, 'limits: retries for 2 h', 'time limit: off'],
  [{ idleTimeout: '90s' }, '90 s of silence', 'silence limit: 90 s'],
  [{ idleTimeout: '1d1ms' }, '24 h 1 ms of silence', 'silence limit: 24 h 1 ms'],
  [
    { maxCostUsd: 5, maxDuration: '1h30m' },
    '$5.00, 1 h 30 min in total',
    'budget: $5.00, 1 h 30 min',
  ],
  [
    { maxCostUsd: 0.005, maxTokens: 2_000_000 },
    '$0.0050, 2,000,000 tokens',
    'budget: $0.0050, 2,000,000 tokens',
  ],
  [{ retry: { attempts: 0 } }, 'no retries', 'retry: never'],
  [{ retry: { for: '0s' } }, 'no retries', 'retry: never'],
  [{ retry: { attempts: 1, backoff: '1s' } }, 'no retries', 'retry: never'],
  [
    { retry: { attempts: 3, backoff: '1s' } },
    '3 attempts',
    'retry: 3 attempts, after 1 s up to 10 min',
  ],
  [{ maxWait: '0s' }, 'does not wait for usage limits', 'longest wait: 0 s'],
  [{ stall: 1 }, '1 iteration without progress', 'stall: after 1 iteration without progress'],
]

test.each(LIMITS)('%j is shown as %j, and in full as %j', (fields, words, line) => {
  const chain = { steps: [{ agent: 'a', iterations: 2, ...fields }] }
  expect(linesFor({ chain })[0]).toContain(words)
  expect(linesFor({ chain })).toHaveLength(1)
  expect(linesFor({ chain }, { isComplete: true })).toContain(line)
})

test.each<[PolicyConfig, string[]]>([
  [{ verify: ['npm test', 'npm run lint'] }, ['verify: npm test', 'verify: npm run lint', USUAL]],
  [{ until: 'test -f done' }, ['until: test -f done', USUAL]],
  [{ when: 'true' }, ['when: true', USUAL]],
  [{ onFail: 'continue' }, [USUAL, 'on failure: continue with the next step']],
  [{ onFail: { goto: 2 } }, [USUAL, 'on failure: go to step 2 (fix), at most once']],
  [{ onFail: { goto: 3, times: 2 } }, [USUAL, 'on failure: go to step 3 (b), at most 2 times']],
  [{ onFail: { run: 'medic' } }, [USUAL, 'on failure: run step 4 (medic)']],
  [{ hooks: { onWait: 'beep' } }, [USUAL, 'hook onWait: beep']],
  [{ env: { A_KEY: 'secret', B: '' } }, [USUAL, 'env: A_KEY, B']],
  [{ grace: { marker: '0s' } }, [USUAL, 'grace: 0 s after the marker, 10 s after a signal']],
])('%j is shown as %j', (fields, lines) => {
  const first = { agent: 'a', iterations: 2, ...fields }
  const steps = [first, { agent: 'a', name: 'fix' }, { agent: 'b' }]
  expect(linesFor({ chain: { steps } })).toEqual(lines)
  expect(linesFor({ chain: { steps } }, { step: 1 })[0]).toBe('name: fix')
})

test('settings of the chain as a whole are separate', () => {
  const chain = { when: 'true', maxTokens: 5, hooks: { afterRun: 'beep' } }
  expect(render(chainLines(make({ chain }).plan))).toEqual([
    'when: true',
    'budget: 5 tokens',
    'hook afterRun: beep',
  ])
  expect(linesFor({ chain })).toEqual([USUAL])
  expect(chainLines(make({}).plan)).toEqual([])
})
