import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, reasonsIn, runChain, startChain } from '../support/chains.ts'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'

const copies = (count: number, more: object = {}) => ({
  agent: './agent',
  iterations: 2,
  copies: count,
  ...more,
})

test('no more agents run at once than maxParallel allows', async () => {
  const agent = sh(
    'mkdir "at-work-$$"',
    'ls -d at-work-* | wc -l >> counts',
    'sleep 0.1',
    'rmdir "at-work-$$"',
    'echo ORCHESTRA_COMPLETE',
  )
  const cwd = makeChain([copies(6)], { agent }, { maxParallel: 2 })
  expect((await runChain(cwd)).code).toBe(0)
  const counts = readFileSync(join(cwd, 'counts'), 'utf8').trim().split('\n').map(Number)
  expect([counts.length, Math.max(...counts)]).toEqual([6, 2])
})

test('a slot is free again after each iteration', async () => {
  const agent = sh('[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE; exit 0')
  const { code, events } = await runChain(makeChain([copies(2)], { agent }, { maxParallel: 1 }))
  const places = ofType(events, 'iteration_started').map(({ scope }) => scope.slice(1).join('/'))
  expect([code, places]).toEqual([0, ['c1/i1', 'c2/i1', 'c1/i2', 'c2/i2']])
})

const WRITER = { agent: 'w', iterations: 9 }

test.each<[string, object, number]>([
  ['of a step is that of each copy', { ...WRITER, copies: 2, maxCostUsd: 0.2 }, 6],
  ['of a group is that of all in it', { parallel: [WRITER, WRITER], maxCostUsd: 0.2 }, 3],
  ['of a copied group is that of each copy', { sequence: [WRITER], copies: 2, maxCostUsd: 0.2 }, 6],
])('the budget %s', async (_, step, iterations) => {
  const result = { type: 'result', subtype: 'success', is_error: false, result: 'A page.' }
  const claude = sh(`echo '${JSON.stringify({ ...result, total_cost_usd: 0.07 })}'`)
  const agents = { w: { systemPromptText: 'You write.' } }
  const configuration = { agents, chains: { c: { steps: [step], maxParallel: 1 } } }
  const cwd = makeProject({ claude, 'forge/orch/chains.json': JSON.stringify(configuration) })
  const { code, events } = await runChain(cwd, { env: { IS_SANDBOX: '1' } })
  expect([code, new Set(reasonsIn(events))]).toEqual([1, new Set(['budget'])])
  expect(ofType(events, 'iteration_ended')).toHaveLength(iterations)
})

/** Hits a usage limit unless the file `open` exists. */
const limited = (reset: string) =>
  sh(
    '[ -e open ] && { echo ORCHESTRA_COMPLETE; exit 0; }',
    `echo "Claude AI usage limit reached|$((${reset}))"`,
    'exit 1',
  )

test('a usage limit of one agent keeps the others of its kind from starting until it is reset', async () => {
  const agent = limited('$(date +%s) + 3')
  const other = sh('touch open; echo ORCHESTRA_COMPLETE')
  const cwd = makeChain(
    [{ parallel: [copies(3), { agent: './other', iterations: 1 }] }],
    { agent, other },
    { maxParallel: 1 },
  )
  const { code, events } = await runChain(cwd)
  expect(code).toBe(0)
  // Only the first one asks before the reset; the agent of another kind is not affected.
  const starts = ofType(events, 'iteration_started').map(({ scope, at }) => ({ scope, at }))
  const resets = ofType(events, 'waiting').map(({ until }) => Date.parse(until))
  expect(starts.map(({ scope }) => scope[1])).toHaveLength(5)
  const late = starts.filter(({ at }) => Date.parse(at) >= Math.min(...resets) - 500)
  expect(late).toHaveLength(3)
  expect(resets).toHaveLength(3)
  // A few seconds apart.
  const sorted = resets.toSorted((one, another) => one - another)
  expect(sorted[2]! - sorted[0]!).toBeGreaterThanOrEqual(6000)
})

test('after kill -9 all continue to wait, and a request to retry now ends that', async () => {
  const agent = limited('$(date +%s) + 3000')
  const cwd = makeChain([copies(3)], { agent }, { maxWait: '9h', maxParallel: 1 })
  const all = async (running: Running) => {
    for (const copy of [1, 2, 3]) await running.warned(`agent#${copy} │ [forkhestra] Waiting`)
  }
  const killed = startChain(cwd)
  await all(killed)
  killed.signal('SIGKILL')
  await killed.finished
  const resumed = new Running(['resume'], { cwd })
  await all(resumed)
  const [run] = runsOf(cwd)
  expect(ofType(journalOf(cwd, run!), 'iteration_started')).toHaveLength(1)
  writeFileSync(join(cwd, 'open'), '')
  expect((await forkhestra(['retry-now'], { cwd })).code).toBe(0)
  expect((await resumed.finished).code).toBe(0)
  const waited = ofType(journalOf(cwd, run!), 'waited').map(({ cause }) => cause)
  expect(waited).toEqual(['retry_now', 'retry_now', 'retry_now'])
})

test('where a fallback does not wait, no other copy starts the agent that hit the limit', async () => {
  const agent = limited('$(date +%s) + 3000')
  const alternatives = [{ agent: './agent', iterations: 2 }, { agent: './other' }]
  const cwd = makeChain(
    [{ fallback: alternatives, copies: 3 }],
    { agent, other: sh('exit 0') },
    { maxParallel: 1 },
  )
  const { code, events } = await runChain(cwd)
  const started = ofType(events, 'iteration_started').map(({ step }) => step)
  expect([code, started]).toEqual([0, [1, 2, 2, 2]])
})
