import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventSchema, type RunEvent } from '../../src/records/events/schema.ts'
import { makeChain, reasonsIn, runChain } from '../support/chains.ts'
import { sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'

/** Is overloaded once, then prints the marker in its second iteration. */
const BUSY = sh(
  '[ -e seen ] || { touch seen; echo "API Error: 529 Overloaded"; exit 1; }',
  '[ $FORKHESTRA_ITERATION = 2 ] && echo ORCHESTRA_COMPLETE',
  'exit 0',
)

const NAMES = ['beforeStep', 'afterIteration', 'afterStep', 'onWait', 'afterRun'] as const
const hooks = (names: readonly string[], command: (name: string) => string) =>
  Object.fromEntries(names.map((name) => [name, command(name)]))

const said = (cwd: string, name: string): RunEvent[] => {
  const path = join(cwd, name)
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as RunEvent)
}

test('each hook gets its event as one line of JSON, hooks of the step first', async () => {
  const step = {
    agent: 'busy',
    iterations: 3,
    retry: { attempts: 3, backoff: '20ms' },
    hooks: hooks(NAMES.slice(0, 4), (name) => `cat >> step-${name}; echo step-${name} >> order`),
  }
  const cwd = makeChain(
    [step],
    { busy: BUSY },
    { hooks: hooks(NAMES, (name) => `cat >> chain-${name}; echo chain-${name} >> order`) },
  )
  const { code, stderr } = await runChain(cwd)
  expect(code).toBe(0)
  expect(stderr).not.toContain('failed')
  const both = (name: string) => [`step-${name}`, `chain-${name}`]
  expect(readFileSync(join(cwd, 'order'), 'utf8').trimEnd().split('\n')).toEqual([
    ...both('beforeStep'),
    ...both('afterIteration'),
    ...both('onWait'),
    ...both('afterIteration'),
    ...both('afterIteration'),
    ...both('afterStep'),
    'chain-afterRun',
  ])
  const types = NAMES.map((name) => said(cwd, `chain-${name}`).map(({ type }) => type))
  expect(types).toEqual([
    ['step_started'],
    ['iteration_ended', 'iteration_ended', 'iteration_ended'],
    ['step_ended'],
    ['waiting'],
    ['run_ended'],
  ])
  for (const event of NAMES.flatMap((name) => said(cwd, `chain-${name}`)))
    expect(eventSchema.safeParse(event).error).toBeUndefined()
})

test('a failing hook is a warning, and the run continues', async () => {
  const bad = hooks(['afterIteration', 'afterStep', 'afterRun'], (name) => `echo ${name}!; exit 7`)
  const cwd = makeChain([{ agent: 'ok' }], { ok: sh('true') }, { hooks: bad })
  const { code, stdout, stderr } = await runChain(cwd)
  expect(code).toBe(0)
  expect(stdout).toEndWith('[forkhestra] Pipeline complete (1/1 steps)\n')
  for (const name of ['afterIteration', 'afterStep', 'afterRun']) {
    expect(stderr).toContain(
      `[forkhestra] Warning: ${name} failed: echo ${name}!; exit 7 (exit 7)\n  | ${name}!\n`,
    )
  }
})

test('a failing beforeStep is an error of the step, and the agent does not start', async () => {
  const cwd = makeChain([{ agent: 'ok', hooks: { beforeStep: 'exit 7' } }, { agent: 'ok' }], {
    ok: sh('touch started'),
  })
  const { code, stdout, events } = await runChain(cwd)
  expect({ code, reasons: reasonsIn(events) }).toEqual({ code: 1, reasons: ['error', 'skipped'] })
  expect(stdout).toContain('Failed at step 1: ok (error: beforeStep: exit 7: exit 7)')
  expect(existsSync(join(cwd, 'started'))).toBe(false)
})

test('a hook that hangs has the time limit of its step', async () => {
  const cwd = makeChain([{ agent: 'ok', timeout: '400ms', hooks: { afterStep: 'sleep 300' } }], {
    ok: sh('true'),
  })
  const { code, events } = await runChain(cwd)
  expect(code).toBe(0)
  expect(ofType(events, 'command')).toMatchObject([
    { role: 'afterStep', result: 'failed', detail: 'timed out after 0.4 s' },
  ])
})

test('the output of hooks is not shown, and they need not read stdin', async () => {
  const cwd = makeChain(
    [{ agent: 'ok' }],
    { ok: sh('true') },
    {
      hooks: {
        beforeStep: 'yes hook | head -c 50000000',
        afterRun: 'exec 0<&-; yes | head -c 999',
      },
    },
  )
  const { code, stdout, stderr, events } = await runChain(cwd)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).not.toContain('hook')
  expect(ofType(events, 'command').map(({ result }) => result)).toEqual(['ok', 'ok'])
})

test('afterRun runs after a stop and gets its reason', async () => {
  const cwd = makeChain(
    [{ agent: 'stopper', hooks: { afterStep: 'touch after-step' } }],
    { stopper: sh('kill -TERM $PPID', 'sleep 60') },
    { hooks: { afterRun: 'cat > ended' } },
  )
  expect((await runChain(cwd)).code).toBe(143)
  expect(said(cwd, 'ended')).toMatchObject([
    { type: 'run_ended', exitCode: 143, stopped: { signal: 'SIGTERM' } },
  ])
  expect(said(cwd, 'ended')).toMatchObject([{ worker: expect.stringMatching(/^w-/) }])
  expect(existsSync(join(cwd, 'after-step'))).toBe(false)
})

test('hooks get the event in words, and how to continue', async () => {
  const commands = { afterStep: 'cat >step.json', afterRun: 'cat >run.json' }
  const cwd = makeChain(
    [{ agent: 'a', iterations: 2 }],
    { a: sh("echo 'ORCHESTRA_BLOCKED: why?'") },
    { hooks: commands },
  )
  const { run } = await runChain(cwd)
  const [step, ended] = ['step.json', 'run.json'].map((name) =>
    JSON.parse(readFileSync(join(cwd, name), 'utf8')),
  )
  expect(step.notice).toMatchObject({ reason: 'why?', step: { number: 1, agent: 'a' }, chain: 'c' })
  expect(ended.notice).toMatchObject({
    title: expect.stringMatching(/: run failed at step 1 \(a\)$/),
    project: cwd,
    reason: 'blocked: why?',
    next: `forkhestra resume ${run} --cwd ${cwd}`,
    spent: { iterations: 1 },
  })
  expect('kind' in ended.notice).toBe(false)
})
