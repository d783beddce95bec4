import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, reasonsIn, runChain, startChain, withRecord } from '../support/chains.ts'
import { forkhestra, Running, shell } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'

const AGENTS = {
  ok: sh('echo "ok $FORKHESTRA_STEP" >> calls'),
  bad: sh('echo "bad $FORKHESTRA_STEP" >> calls', 'exit 3'),
  blocked: sh('echo "blocked $FORKHESTRA_STEP" >> calls', 'echo "ORCHESTRA_BLOCKED: no key"'),
  /** Prints the marker once it has been called twice. */
  review: sh(
    'echo "review $FORKHESTRA_STEP" >> calls',
    '[ $(grep -c review calls) -ge 2 ] && echo ORCHESTRA_COMPLETE',
    'exit 0',
  ),
  limited: sh(
    'echo "limited $FORKHESTRA_STEP" >> calls',
    'echo "You\'ve hit your usage limit"',
    'exit 1',
  ),
  login: sh('echo "Invalid API key · Please run /login"', 'exit 1'),
  /** Waits until it is stopped. */
  slow: sh('echo "slow $FORKHESTRA_STEP" >> calls', 'echo waiting', 'exec sleep 60'),
}

const chain = (steps: readonly object[], more: object = {}) => makeChain(steps, AGENTS, more)
const calls = (cwd: string) =>
  existsSync(join(cwd, 'calls'))
    ? readFileSync(join(cwd, 'calls'), 'utf8').trimEnd().split('\n')
    : []
const typed = async (text: string, ...more: string[]) => {
  const cwd = makeProject({ ...AGENTS, 'forge/x': '' })
  return { cwd, ...withRecord(await forkhestra([text, ...more], { cwd }), cwd) }
}

describe('a group in rounds', () => {
  test('is repeated until its last item completes', async () => {
    const { cwd, code, stdout, events } = await typed('(ok -> review:1):5 -> ok')
    expect([code, calls(cwd)]).toEqual([0, ['ok 1', 'review 2', 'ok 1', 'review 2', 'ok 3']])
    expect(stdout).toContain('[forkhestra] Round 2/5\n[forkhestra] Running: ok (2nd time)\n')
    expect(stdout).toContain('[forkhestra] Complete after 2 rounds\n')
    expect(stdout).toEndWith('[forkhestra] Chain complete (3/3 steps)\n')
    const started = ofType(events, 'group_started').map(({ scope, round }) => [scope, round])
    expect(started).toEqual([
      [['g1'], 1],
      [['g1', 'r2'], 2],
    ])
    expect(ofType(events, 'step_started').map(({ scope, round }) => [scope, round])).toEqual([
      [['g1', 's1'], undefined],
      [['g1', 's2'], undefined],
      [['g1', 'r2', 's1'], 2],
      [['g1', 'r2', 's2'], 2],
      [['s3'], undefined],
    ])
    expect(ofType(events, 'group_ended')).toMatchObject([{ reason: 'marker', round: 2 }])
  })

  test('ends after its last round, and a resume gives it as many again', async () => {
    const { cwd, code, stdout, run } = await typed('(ok -> bad):2')
    expect([code, calls(cwd)]).toEqual([1, ['ok 1', 'bad 2', 'ok 1', 'bad 2']])
    expect(stdout).toContain('[forkhestra] Not complete after 2 rounds\n')
    const again = await forkhestra(['resume'], { cwd })
    expect([again.code, calls(cwd).length]).toEqual([1, 8])
    expect(again.stdout).toContain('[forkhestra] Round 3/4\n')
    expect((await forkhestra(['show'], { cwd })).stdout).toMatch(
      /^ {2}forkhestra resume .* resume$/m,
    )
    writeFileSync(join(cwd, 'bad'), AGENTS.ok)
    expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
    const reasons = ofType(journalOf(cwd, run), 'group_ended').map(({ reason }) => reason)
    expect(reasons).toEqual(['max_iterations', 'max_iterations', 'single_run'])
  })

  test('ends early for a reason that another round would not change', async () => {
    const { cwd, code, events } = await typed('(blocked:2 -> ok):3')
    expect([code, calls(cwd)]).toEqual([1, ['blocked 1']])
    expect(ofType(events, 'group_ended')).toMatchObject([{ reason: 'blocked', detail: 'no key' }])
    expect(reasonsIn(events)).toEqual(['blocked', 'skipped'])
  })

  test.each<[string, object, number]>([
    ['gate_failed', { verify: 'false' }, 2],
    ['timeout', { agent: 'slow', timeout: '100ms' }, 2],
    ['max_iterations', { iterations: 1 }, 2],
    ['stalled', { iterations: 9, stall: 1 }, 1],
    ['error', { hooks: { beforeStep: 'false' } }, 1],
    ['auth', { agent: 'login' }, 1],
    ['quota', { agent: 'limited', maxWait: '0s' }, 1],
  ])('whose first step ends with %p', async (reason, fields, rounds) => {
    const cwd = chain([
      { sequence: [{ agent: 'ok', ...fields }, { agent: 'ok' }], iterations: 2 },
      { agent: 'ok' },
    ])
    const { code, events } = await runChain(cwd)
    const ends = Array.from({ length: rounds }, () => reason)
    expect([code, reasonsIn(events)]).toEqual([1, [...ends, 'skipped', 'skipped']])
    const last = rounds === 2 ? 'max_iterations' : reason
    expect(ofType(events, 'group_ended')).toMatchObject([{ round: rounds, reason: last }])
  })

  test('may contain another, and each starts over in the outer round', async () => {
    const { cwd, code } = await typed('((ok -> bad):2 || ok):1 -> ok')
    expect([code, calls(cwd)]).toEqual([0, ['ok 1', 'bad 2', 'ok 1', 'bad 2', 'ok 3', 'ok 4']])
  })
})

describe('a fallback', () => {
  test('runs the next item only if the one before did not complete', async () => {
    const { cwd, code, stdout, events } = await typed('bad || ok || ok')
    expect([code, calls(cwd)]).toEqual([0, ['bad 1', 'ok 2']])
    expect(stdout).toContain('  3. ok: skipped (not needed: ok completed)\n')
    expect(stdout).toEndWith('[forkhestra] Pipeline complete (3/3 steps, 1 skipped)\n')
    expect(ofType(events, 'run_ended')).toMatchObject([{ ok: true, exitCode: 0 }])
    const shown = await forkhestra(['show', '--json'], { cwd })
    expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'complete' })
  })

  test('fails if none completes, and a resume begins with the first again', async () => {
    const { cwd, code } = await typed('bad || bad')
    expect([code, calls(cwd)]).toEqual([1, ['bad 1', 'bad 2']])
    writeFileSync(join(cwd, 'bad'), AGENTS.ok)
    expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
    expect(calls(cwd)).toEqual(['bad 1', 'bad 2', 'ok 1'])
  })

  test('does not wait for a usage limit', async () => {
    const { cwd, code, events } = await typed('limited:3 || ok')
    expect([code, calls(cwd)]).toEqual([0, ['limited 1', 'ok 2']])
    expect(ofType(events, 'waiting')).toEqual([])
  })

  test.each<[string, object]>([
    ['auth', { agent: 'login', iterations: 3 }],
    ['budget', { agent: 'slow', maxDuration: '100ms' }],
    ['blocked', { agent: 'blocked', iterations: 3 }],
  ])('goes on after %s', async (reason, first) => {
    const cwd = chain([{ fallback: [first, { agent: 'ok' }] }])
    const { code, events } = await runChain(cwd)
    expect([code, reasonsIn(events)]).toEqual([0, [reason, 'single_run']])
  })

  test('does not go on once the budget of the run is spent', async () => {
    const cwd = chain([{ fallback: [{ agent: 'slow' }, { agent: 'ok' }] }], {
      maxDuration: '100ms',
    })
    const { code, events } = await runChain(cwd)
    expect([code, reasonsIn(events)]).toEqual([1, ['budget', 'skipped']])
  })

  test('is not entered after Ctrl-C, and a resume continues where it was', async () => {
    const cwd = chain([{ fallback: [{ agent: 'slow' }, { agent: 'ok' }] }])
    const running = startChain(cwd)
    await running.printed('waiting')
    running.signal('SIGINT')
    expect((await running.finished).code).toBe(130)
    writeFileSync(join(cwd, 'slow'), AGENTS.bad)
    expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
    expect(calls(cwd)).toEqual(['slow 1', 'bad 1', 'ok 2'])
  })
})

describe('a parallel group', () => {
  test('lets the others finish if one does not complete', async () => {
    const rest = { sequence: [{ agent: 'ok' }, { agent: 'ok' }] }
    const cwd = chain([{ parallel: [{ agent: 'bad' }, rest] }, { agent: 'ok' }])
    const { code, events } = await runChain(cwd)
    expect(code).toBe(1)
    expect(reasonsIn(events).toSorted()).toEqual([
      'agent_failed',
      'single_run',
      'single_run',
      'skipped',
    ])
    expect(ofType(events, 'group_ended').at(-1)).toMatchObject({ reason: 'agent_failed' })
  })

  test('keeps a jump inside a branch', async () => {
    const again = { sequence: [{ agent: 'ok' }, { agent: 'bad', onFail: { goto: 1 } }] }
    const { code, events } = await runChain(chain([{ parallel: [{ agent: 'ok' }, again] }]))
    const places = ofType(events, 'iteration_started').map(({ scope }) => scope.join('/'))
    expect([code, places.filter((place) => place.startsWith('g1/g2/'))]).toEqual([
      1,
      ['g1/g2/s2/i1', 'g1/g2/s3/i1', 'g1/g2/s2/r2/i1', 'g1/g2/s3/r2/i1'],
    ])
  })

  test('that was cancelled continues with a resume', async () => {
    const cwd = chain([{ parallel: [{ agent: 'slow' }, { agent: 'bad' }], failFast: true }])
    const { code, events } = await runChain(cwd)
    expect([code, reasonsIn(events).toSorted()]).toEqual([1, ['agent_failed', 'cancelled']])
    for (const name of ['slow', 'bad']) writeFileSync(join(cwd, name), AGENTS.ok)
    expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
  })
})

test('an item that is skipped does not complete a fallback', async () => {
  const cwd = chain([{ fallback: [{ agent: 'bad', when: 'false' }, { agent: 'ok' }] }])
  expect([(await runChain(cwd)).code, calls(cwd)]).toEqual([0, ['ok 2']])
  const all = chain([{ fallback: [{ agent: 'bad', when: 'false' }] }, { agent: 'ok' }])
  const { code, stdout } = await runChain(all)
  expect([code, calls(all)]).toEqual([0, ['ok 2']])
  expect(stdout).toContain('Skipped: group g1 (all of its steps were skipped)\n')
})

test('a fallback that dealt with a usage limit does not end the rounds around it', async () => {
  const { cwd, code } = await typed('((limited:1 || bad) -> ok):2')
  expect([code, calls(cwd)]).toEqual([1, ['limited 1', 'bad 2', 'limited 1', 'bad 2']])
})

test('a resume can raise the budget of a group', async () => {
  const cwd = makeChain(
    [{ sequence: [{ agent: 'nap' }, { agent: 'bad' }], iterations: 9, maxDuration: '1s' }],
    { ...AGENTS, nap: sh('echo "nap" >> calls', 'sleep 0.4') },
  )
  expect((await runChain(cwd)).code).toBe(1)
  const before = calls(cwd).length
  writeFileSync(join(cwd, 'bad'), AGENTS.ok)
  expect((await forkhestra(['resume', '--max-duration', '1m'], { cwd })).code).toBe(0)
  expect(calls(cwd).length).toBeGreaterThan(before)
})

describe('a group', () => {
  test('is skipped by its condition', async () => {
    const cwd = chain([
      { sequence: [{ agent: 'bad' }, { agent: 'bad' }], when: 'false', name: 'extra' },
      { agent: 'ok' },
    ])
    const { code, stdout } = await runChain(cwd)
    expect([code, calls(cwd)]).toEqual([0, ['ok 3']])
    expect(stdout).toContain('[forkhestra] Skipped: extra (when: false)\n')
  })

  test('checks its condition in its place', async () => {
    const cwd = makeProject({
      ok: AGENTS.ok,
      'forge/orch/chains.json': JSON.stringify({
        chains: {
          c: {
            steps: [
              {
                sequence: [{ agent: 'ok' }],
                copies: 2,
                env: { A: 'group' },
                when: '[ "$A $FORKHESTRA_SCOPE" = "group g1/c2" ]',
              },
            ],
          },
        },
      }),
    })
    const { code, stdout, events } = await runChain(cwd)
    expect([code, calls(cwd)]).toEqual([0, ['ok 1']])
    expect(stdout).toContain('g1#1 │ [forkhestra] Skipped: group g1')
    const scopes = ofType(events, 'command').map(({ scope }) => scope.join('/'))
    expect(scopes.toSorted()).toEqual(['g1/c1', 'g1/c2'])
  })

  test('continues at another item of its own list', async () => {
    const cwd = chain([
      { agent: 'ok' },
      {
        sequence: [
          { agent: 'ok', name: 'again' },
          { agent: 'bad', onFail: { goto: 'again', times: 2 } },
        ],
        onFail: { goto: 1 },
      },
    ])
    const { code, events } = await runChain(cwd)
    const group = ['ok 2', 'bad 3', 'ok 2', 'bad 3', 'ok 2', 'bad 3']
    expect([code, calls(cwd)]).toEqual([1, ['ok 1', ...group, 'ok 1', ...group]])
    expect(ofType(events, 'jump').map(({ to, count, group: id }) => [to, count, id])).toEqual([
      [2, 1, undefined],
      [2, 2, undefined],
      [1, 1, 'g1'],
      [2, 1, undefined],
      [2, 2, undefined],
    ])
  })

  test('has a budget for all of its rounds', async () => {
    const nap = sh('sleep 0.3')
    const cwd = makeChain(
      [{ sequence: [{ agent: 'nap' }, { agent: 'bad' }], iterations: 50, maxDuration: '1s' }],
      { ...AGENTS, nap },
    )
    const { code, events } = await runChain(cwd)
    expect(code).toBe(1)
    expect(ofType(events, 'group_ended')).toMatchObject([{ reason: 'budget' }])
    const spent = ofType(events, 'step_ended').find(({ reason }) => reason === 'budget')
    expect(spent?.detail).toMatch(/budget of the group spent|no time left|ran out/)
  })

  test('hands its fields on to its steps, whose own take precedence', async () => {
    const env = 'printf "%s %s %s\\n" "$A" "$B" "$FORKHESTRA_SCOPE" >> calls'
    const cwd = makeChain(
      [
        {
          sequence: [
            { agent: 'env', env: { B: 'own' } },
            { agent: 'env', verify: 'true' },
          ],
          env: { A: 'group', B: 'group' },
          verify: 'false',
          hooks: { afterStep: 'echo hook >> calls' },
        },
      ],
      { env: sh(env) },
    )
    const { code, events } = await runChain(cwd)
    expect(code).toBe(1)
    expect(calls(cwd)).toEqual(['group own g1/s1/i1', 'hook'])
    expect(reasonsIn(events)).toEqual(['gate_failed', 'skipped'])
  })

  test('claims tasks for its place, and releases them after each iteration', async () => {
    const cwd = makeProject({
      claim: sh('forge-tasks next --claim --plain >> calls', 'exit 1'),
      'forge/x': '',
    })
    await shell('forge-tasks init && forge-tasks create One', cwd)
    const { code } = await shell('forkhestra "(claim:1):2"', cwd)
    const taken = readFileSync(join(cwd, 'calls'), 'utf8').match(/TASK-001/g) ?? []
    expect([code, taken.length >= 2]).toEqual([1, true])
    const { stdout } = await shell('forge-tasks list --plain', cwd)
    expect(new TextDecoder().decode(stdout)).not.toContain('In Progress')
  })

  test('does not pass its scope on to a nested run', async () => {
    const cwd = makeProject({
      inner: sh('echo "[$FORKHESTRA_SCOPE]" >> calls'),
      outer: sh('echo "[$FORKHESTRA_SCOPE]" >> calls', 'forkhestra ./inner'),
    })
    expect((await shell('forkhestra "(./outer):2"', cwd)).code).toBe(0)
    expect(calls(cwd)).toEqual(['[g1/s1/i1]', '[]'])
  })

  test('runs a recovery in its own place', async () => {
    const cwd = chain([{ sequence: [{ agent: 'bad', onFail: { run: 'ok' } }], iterations: 2 }])
    const { code, events } = await runChain(cwd)
    expect([code, calls(cwd)]).toEqual([1, ['bad 1', 'ok 2', 'bad 1', 'ok 2']])
    expect(ofType(events, 'step_started').map(({ scope }) => scope.join('/'))).toEqual([
      'g1/s1',
      'g1/f2',
      'g1/r2/s1',
      'g1/r2/f2',
    ])
  })
})

describe('a group that is stopped', () => {
  /** Runs until its file `go` exists, then ends as its file `end` says. */
  const PAUSED = {
    ...AGENTS,
    paused: sh(
      'echo "paused $FORKHESTRA_STEP" >> calls',
      'echo waiting',
      'while [ ! -e go ]; do sleep 0.05; done',
      'exit $(cat end 2>/dev/null || echo 0)',
    ),
  }
  const start = (text: string) => {
    const cwd = makeProject({ ...PAUSED, 'forge/x': '', end: '1' })
    return { cwd, running: new Running([text], { cwd }) }
  }

  test.each([
    ['paused || ok', ['paused 1', 'ok 2']],
    ['(paused -> ok):2', ['paused 1', 'paused 1', 'ok 2']],
    ['paused -> ok', ['paused 1', 'paused 1', 'ok 2']],
    ['(ok -> paused):1', ['ok 1', 'paused 2', 'paused 2']],
  ])('by `stop` in an iteration that fails, %p continues with a resume', async (text, expected) => {
    const { cwd, running } = start(text)
    await running.printed('waiting')
    expect((await forkhestra(['stop'], { cwd })).code).toBe(0)
    writeFileSync(join(cwd, 'go'), '')
    expect((await running.finished).code).toBe(1)
    writeFileSync(join(cwd, 'end'), '0')
    const { code } = await forkhestra(['resume'], { cwd })
    expect([code, calls(cwd)]).toEqual([0, expected])
  })

  test('by Ctrl-C continues in its last round, without repeating completed steps', async () => {
    const { cwd, running } = start('(ok -> paused):1')
    await running.printed('waiting')
    running.signal('SIGINT')
    expect((await running.finished).code).toBe(130)
    const again = new Running(['resume'], { cwd })
    await again.printed('waiting')
    again.signal('SIGINT')
    expect((await again.finished).code).toBe(130)
    writeFileSync(join(cwd, 'go'), '')
    writeFileSync(join(cwd, 'end'), '0')
    const { code, stdout } = await forkhestra(['resume'], { cwd })
    expect([code, calls(cwd)]).toEqual([0, ['ok 1', 'paused 2', 'paused 2', 'paused 2']])
    expect(stdout).not.toContain('Round')
  })
})

describe('another chain', () => {
  const chains = {
    inner: { prompt: 'inner', steps: [{ agent: 'say' }, { agent: 'say', prompt: 'own' }] },
    outer: {
      steps: [
        { chain: 'inner', iterations: 1 },
        { agent: 'say', prompt: 'last' },
      ],
    },
    circle: { steps: [{ sequence: [{ chain: 'wheel' }] }] },
    wheel: { steps: [{ chain: 'circle' }] },
  }
  const project = () =>
    makeProject({
      say: sh('echo "$1" >> calls'),
      'forge/orch/chains.json': JSON.stringify({ chains }),
    })

  test.each([[['--chain', 'outer']], [['@inner -> @outer']]])(
    '%p runs its steps with their prompts',
    async (args) => {
      const cwd = project()
      expect((await forkhestra(args, { cwd })).code).toBe(0)
      expect(calls(cwd).slice(-3)).toEqual(['inner', 'own', 'last'])
    },
  )

  test('is refused if it runs itself', async () => {
    const cwd = project()
    for (const args of [['--chain', 'circle'], ['validate']]) {
      const { code, stderr } = await forkhestra(args, { cwd })
      expect(code).toBe(2)
      expect(stderr).toContain("Chain 'circle' runs itself: circle -> wheel -> circle.")
    }
    expect(runsOf(cwd)).toEqual([])
  })
})
