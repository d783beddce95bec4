import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, reasonsIn, runChain, startChain, turnsIn } from '../support/chains.ts'
import { sh } from '../support/project.ts'
import { ofType } from '../support/record.ts'

const AGENTS = {
  ok: sh('echo "ok $FORKHESTRA_STEP" >> calls'),
  bad: sh('echo "bad $FORKHESTRA_STEP" >> calls', 'exit 3'),
  /** Fails until it has been called twice. */
  late: sh('echo "late $FORKHESTRA_STEP" >> calls', '[ $(grep -c late calls) -ge 2 ]'),
  fixer: sh('echo "fixer $FORKHESTRA_STEP" >> calls', 'printf %s "$1" > prompt'),
}

const chain = (steps: readonly object[], more: object = {}) => makeChain(steps, AGENTS, more)
const calls = (cwd: string) => {
  const path = join(cwd, 'calls')
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : []
}

describe('when', () => {
  test('skips a step, and the run can still complete', async () => {
    const cwd = chain([
      { agent: 'bad', when: 'test -e gone' },
      { agent: 'ok', when: 'true' },
    ])
    const { code, stdout, stderr, events } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 0, calls: ['ok 2'] })
    expect(stdout).toContain('[forkhestra] Skipped: bad (when: test -e gone)\n')
    expect(stdout).toContain('  1. bad: skipped (when: test -e gone)\n')
    expect(stdout).toEndWith('[forkhestra] Pipeline complete (2/2 steps, 1 skipped)\n')
    expect(stderr).toBe('')
    expect(ofType(events, 'step_ended')[0]).toMatchObject({ reason: 'skipped', passed: true })
  })

  test.each([{}, { when: 'true' }])(
    'the start of a step is shown before its hook: %j',
    async (when) => {
      const hooks = { beforeStep: 'until test -e go; do sleep 0.05; done' }
      const cwd = chain([{ agent: 'ok', hooks, ...when }])
      const run = startChain(cwd)
      await run.printed('[forkhestra] Running: ok\n')
      writeFileSync(join(cwd, 'go'), '')
      expect((await run.finished).code).toBe(0)
    },
  )

  test('skips a whole chain', async () => {
    const cwd = chain([{ agent: 'ok' }, { agent: 'ok' }], { when: 'exit 1' })
    const { code, stdout } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 0, calls: [] })
    expect(stdout).toEndWith('[forkhestra] Pipeline complete (2/2 steps, 2 skipped)\n')
  })

  test('is an error if it cannot run', async () => {
    const step = await runChain(chain([{ agent: 'ok', when: 'gone-for-good' }, { agent: 'ok' }]))
    expect({ code: step.code, reasons: reasonsIn(step.events) }).toEqual({
      code: 1,
      reasons: ['error', 'skipped'],
    })
    const whole = await runChain(chain([{ agent: 'ok' }], { when: '/' }))
    expect({ code: whole.code, reasons: reasonsIn(whole.events) }).toEqual({
      code: 1,
      reasons: ['error'],
    })
    expect(whole.stdout).toContain('when: /: exit 126')
  })

  test.each([
    ['kill -9 $$', 'killed by SIGKILL'],
    ["sh -c 'kill -9 $$'; exit $?", 'exit 137'],
    ['sleep 60', 'timed out after 1 s'],
  ])('is an error if it gives no answer: %s', async (when, why) => {
    const cwd = chain([{ agent: 'ok', when, timeout: '1s' }])
    const { code, stdout, events } = await runChain(cwd)
    expect({ code, reasons: reasonsIn(events), calls: calls(cwd) }).toEqual({
      code: 1,
      reasons: ['error'],
      calls: [],
    })
    expect(stdout).toContain(`when cannot be run: ${when}: ${why}`)
  })

  test('of a chain is an error if it gives no answer', async () => {
    const cwd = chain([{ agent: 'ok' }], { when: 'kill -9 $$' })
    const { code, stdout } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 1, calls: [] })
    expect(stdout).toContain('when: kill -9 $$: killed by SIGKILL')
  })
})

describe('onFail', () => {
  test('continue runs the next step, and the run still fails', async () => {
    const cwd = chain([{ agent: 'bad', onFail: 'continue' }, { agent: 'ok' }])
    const { code, stdout } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 1, calls: ['bad 1', 'ok 2'] })
    expect(stdout).toContain('  2. ok: complete (exit 0)\n')
    expect(stdout).toContain('Pipeline incomplete (1/2 steps)\n[forkhestra] Failed at step 1: bad')
  })

  test('goto repeats the steps from its target on, and the run can still complete', async () => {
    const cwd = chain([
      { agent: 'ok', name: 'build' },
      { agent: 'ok' },
      { agent: 'late', onFail: { goto: 'build', times: 3 } },
      { agent: 'ok' },
    ])
    const { code, stdout, stderr, events } = await runChain(cwd)
    expect(calls(cwd)).toEqual(['ok 1', 'ok 2', 'late 3', 'ok 1', 'ok 2', 'late 3', 'ok 4'])
    expect(turnsIn(events).slice(3)).toEqual([
      '1r2.1 exited',
      '2r2.1 exited',
      '3r2.1 exited',
      '4.1 exited',
    ])
    expect(stderr).toContain('[forkhestra] Step 3 failed: continuing at step 1 (build) (1/3)\n')
    expect(stdout).toContain('[forkhestra] Running: build (2nd time)\n')
    expect(stdout).toContain('  1. build (ok): complete (exit 0)\n')
    expect(code).toBe(0)
  })

  test.each<[string, readonly object[], readonly string[]]>([
    [
      'itself',
      [{ agent: 'bad', onFail: { goto: 1, times: 2 } }, { agent: 'ok' }],
      ['bad 1', 'bad 1', 'bad 1'],
    ],
    [
      'a later step',
      [{ agent: 'bad', onFail: { goto: 3 } }, { agent: 'bad' }, { agent: 'ok' }],
      ['bad 1', 'ok 3'],
    ],
    [
      'one another',
      [
        { agent: 'bad', onFail: { goto: 2, times: 2 } },
        { agent: 'bad', onFail: { goto: 1, times: 2 } },
      ],
      ['bad 1', 'bad 2', 'bad 1', 'bad 2', 'bad 1'],
    ],
  ])('goto to %s ends', async (_, steps, expected) => {
    const cwd = chain(steps)
    const { code } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 1, calls: [...expected] })
  })

  test('run starts a recovery agent with the failure in its prompt, then stops', async () => {
    const cwd = chain([
      { agent: 'ok', name: 'tests', verify: 'echo 3 red; exit 4', onFail: { run: 'fixer' } },
      { agent: 'ok' },
    ])
    const { code, stdout } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 1, calls: ['ok 1', 'fixer 3'] })
    const prompt = readFileSync(join(cwd, 'prompt'), 'utf8')
    expect(prompt).toStartWith('[forkhestra] Step 1 (tests) failed after 1 iteration: ')
    expect(prompt).toContain('gate_failed, echo 3 red; exit 4: exit 4')
    expect(prompt).toContain('>\n3 red\n</')
    expect(stdout).toContain('Failed at step 1: tests (ok)')
  })

  test('a recovery agent can get any text that an agent printed', async () => {
    const cwd = makeChain([{ agent: 'stuck', iterations: 2, onFail: { run: 'fixer' } }], {
      ...AGENTS,
      stuck: sh(String.raw`printf 'ORCHESTRA_BLOCKED: a\000b \033[31mred\n'`),
    })
    expect((await runChain(cwd)).code).toBe(1)
    expect(calls(cwd)).toEqual(['fixer 2'])
    expect(readFileSync(join(cwd, 'prompt'), 'utf8')).toContain('blocked, a')
  })

  test('no recovery agent runs after a signal', async () => {
    const cwd = makeChain(
      [
        { agent: 'stopper', onFail: { run: 'fixer' } },
        { agent: 'ok', onFail: 'continue' },
      ],
      { ...AGENTS, stopper: sh('kill -INT $PPID', 'sleep 60') },
    )
    const { code } = await runChain(cwd)
    expect({ code, calls: calls(cwd) }).toEqual({ code: 130, calls: [] })
  })
})

test('a step gets the variables of chain, agent and step, and the nearest wins', async () => {
  const cwd = makeChain(
    [
      {
        agent: 'show',
        env: { A: 'step', FORKHESTRA_STEP: '99' },
        verify: 'echo "gate $A$B" >> seen',
      },
    ],
    { show: sh('echo "$A $B $C $D $FORKHESTRA_STEP" > seen') },
    { env: { A: 'chain', B: 'chain', C: 'chain' } },
  )
  const { code } = await runChain(cwd, { env: { C: 'shell', D: 'shell' } })
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'seen'), 'utf8')).toBe('step chain chain shell 1\ngate stepchain\n')
})

test('grace limits how long an agent that ignores a signal lives', async () => {
  // Without its own grace, the agent would have the hour of the chain.
  const cwd = makeChain(
    [{ agent: 'deaf', timeout: '300ms', grace: { term: '200ms' } }],
    { deaf: sh("trap '' TERM INT", 'while :; do sleep 1; done') },
    { grace: { term: '1h' } },
  )
  const { code, events } = await runChain(cwd)
  expect({ code, reasons: reasonsIn(events) }).toEqual({ code: 1, reasons: ['timeout'] })
})
