import { expect, test } from 'bun:test'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeChain, runChain, startChain } from '../support/chains.ts'
import { tasks } from '../support/builders.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { until } from '../support/until.ts'

const CONFIGURATION = 'forge/orch/chains.json'

test('a loop with some failures reports its last failure', async () => {
  const agent = sh('[ $FORKHESTRA_ITERATION -gt 2 ] || exit 3')
  const { stderr } = await runChain(makeChain([{ agent: 'agent', iterations: 4 }], { agent }))
  expect(stderr).toContain('The agent failed in 2 of 4 iterations; last failure: exit 3\n')
})

test.each([
  ['the run', {}, ['--max-cost', '0.15'], '$0.14 of $0.15'],
  ['the step', { maxCostUsd: 0.16 }, ['--max-cost', '5'], '$0.14 of $0.16'],
])('an agent that runs out of money reports the budget of %s', async (of, more, args, words) => {
  const result = (rest: object) =>
    JSON.stringify({ type: 'result', total_cost_usd: 0.07, session_id: 'a', ...rest })
  const [fine, poor] = [
    result({ subtype: 'success', is_error: false, result: 'A page.' }),
    result({
      subtype: 'error_max_budget_usd',
      is_error: true,
      errors: ['Reached maximum budget ($0.07)'],
    }),
  ]
  const claude = sh(
    `[ $FORKHESTRA_ITERATION = 1 ] && echo '${fine}' && exit`,
    `echo '${poor}'; exit 1`,
  )
  const cwd = makeProject({
    claude,
    [CONFIGURATION]: JSON.stringify({
      agents: { w: { systemPromptText: 'You write.' } },
      chains: { c: { steps: [{ agent: 'w', iterations: 5, ...more }] } },
    }),
  })
  const { code, stdout, stderr } = await runChain(cwd, { args, env: { IS_SANDBOX: '1' } })
  expect(stdout).toContain(`Failed at step 1: w (budget of ${of} spent: ${words})\n`)
  expect([code, stderr.includes(' --max-cost …\n')]).toEqual([1, true])
})

/** Records its cost limit and spends all of it. */
const SPENDER = sh(
  'while [ "$1" != --max-budget-usd ]; do shift; done',
  'echo "$2" >>given',
  `echo '{"type":"result","subtype":"error_max_budget_usd","is_error":true,"session_id":"a",' |`,
  `  sed "s/$/\\"total_cost_usd\\":$2,\\"errors\\":[\\"Reached maximum budget (\\$$2)\\"]}/"`,
  'exit 1',
)

test.each([
  ['in a loop', { iterations: 9 }, ['1.1', '2.1']],
  ['once', {}, ['1.1', '1.2']],
])(
  'an agent that may queue tasks can use both halves of the budget: %s',
  async (_, step, attempts) => {
    const cwd = makeProject({
      claude: SPENDER,
      [CONFIGURATION]: JSON.stringify({
        agents: { w: { systemPromptText: 'You write.', queue: true } },
        chains: { c: { steps: [{ agent: 'w', ...step }] } },
      }),
    })
    const options = { args: ['--max-cost', '20'], env: { IS_SANDBOX: '1' } }
    const { code, events, stdout, stderr } = await runChain(cwd, options)
    expect(readFileSync(join(cwd, 'given'), 'utf8')).toBe('10.00\n10.00\n')
    const begun = events.filter((event) => event.type === 'iteration_started')
    expect(begun.map(({ iteration, attempt }) => `${iteration}.${attempt}`)).toEqual(attempts)
    expect(stdout).toContain('Failed at step 1: w (budget of the run spent: $20.00 of $20.00)\n')
    expect([code, stderr.includes(' --max-cost …\n')]).toEqual([1, true])
    const again = await forkhestra(['resume'], { cwd, env: { IS_SANDBOX: '1' } })
    expect(again.stdout).toContain('budget of the run spent: $20.00 of $20.00')
    expect(readFileSync(join(cwd, 'given'), 'utf8')).toBe('10.00\n10.00\n')
  },
)

test('stopping a wait does not mention an agent', async () => {
  const agent = sh('echo "Claude AI usage limit reached|$(($(date +%s) + 3600))"; exit 1')
  const cwd = makeChain([{ agent: 'agent', iterations: 2 }], { agent })
  const running = startChain(cwd)
  await until(() => running.stderr.includes('To retry now'))
  running.signal('SIGINT')
  const { stderr, code } = await running.finished
  expect(code).toBe(130)
  expect(stderr).toContain('[forkhestra] stopping the wait and the run (SIGINT)\n')
  expect(stderr).not.toContain('to end; a second signal')
})

test('an attempt that was not repeated yet does not count as repeated', async () => {
  const agent = sh('echo "Claude AI usage limit reached|$(($(date +%s) + 3600))"; exit 1')
  const cwd = makeChain([{ agent: 'agent', iterations: 20 }], { agent })
  const running = startChain(cwd)
  await until(() => running.stderr.includes('To retry now'))
  const waiting = await forkhestra(['show'], { cwd })
  expect(waiting.stdout).toMatch(/^ +1 +\d\d:\d\d +[\d.]+ s +limit reached: /m)
  expect(waiting.stdout).not.toContain('repeated')
  running.signal('SIGINT')
  const { stdout } = await running.finished
  expect(stdout).toContain('  1. agent: incomplete (0/20 iterations, interrupted by SIGINT)\n')
  const { stdout: shown } = await forkhestra(['show'], { cwd })
  expect(shown).toContain('Step 1: agent: not complete (0/20 iterations, interrupted')
})

test('only show cuts a long system prompt in the command', async () => {
  const claude = sh('echo ORCHESTRA_COMPLETE')
  const env = { IS_SANDBOX: '1' }
  const cwd = makeProject({ claude })
  const run = async (...args: string[]) => (await forkhestra(args, { cwd, env })).stdout
  const commandIn = (text: string) => /^.*command:? +(\[.*)$/m.exec(text)![1]!
  const start = ['builder:1', '-p', 'Go']
  const verbose = await run(...start, '-v')
  const dry = await run(...start, '--dry-run', '-v')
  const iteration = ['show', '--step', '1', '--iteration', '1']
  const shown = commandIn(await run(...iteration))
  expect(shown).toMatch(/"# How you are run[^"]*… \(\d{4,} characters\)"/)
  expect(shown.length).toBeLessThan(1500)
  const { argv } = JSON.parse(await run(...iteration, '--json')) as { argv: string[] }
  expect(argv.some((arg) => arg.length > 2000)).toBe(true)
  expect(JSON.parse(commandIn(verbose))).toEqual(argv)
  expect(commandIn(dry).length).toBeGreaterThan(2000)
})

test.each(['verify', 'until'])('%s that cannot be run prints what to do', async (role) => {
  const agent = sh('echo ORCHESTRA_COMPLETE')
  const { stderr } = await runChain(
    makeChain([{ agent: 'agent', iterations: 2, [role]: 'no-such-program --all' }], {
      agent: role === 'until' ? sh() : agent,
    }),
  )
  expect(stderr).toContain('[forkhestra] Check that the program exists and is executable')
  expect(stderr).toContain(`forkhestra resume --${role} COMMAND\n`)
})

test('changes of the configuration are shown without secrets', async () => {
  const step = { agent: 'agent', env: { DEPLOY_KEY: 'Abcd-1234-Efgh' } }
  const cwd = makeChain([], { agent: sh('[ -e free ]') })
  const text = JSON.stringify({ chains: { c: { steps: [step] } } }, undefined, 2)
  writeFileSync(join(cwd, CONFIGURATION), text.replace(/"DEPLOY_KEY.*/, '"MODE": "slow"'))
  await runChain(cwd)
  const changed = text.replace('"agent": "agent"', '"agent": "other"')
  writeFileSync(join(cwd, CONFIGURATION), changed)
  writeFileSync(join(cwd, 'free'), '')
  const { code, stderr } = await forkhestra(['resume'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain(
    [
      `Warning: ${CONFIGURATION} has changed since the run started; the run continues with its original plan`,
      '  -           "agent": "agent",',
      '  -             "MODE": "slow"',
      '  +           "agent": "other",',
      '  +             "DEPLOY_KEY": "[masked',
    ].join('\n'),
  )
  expect(stderr).not.toContain('Abcd-1234')
})

test('a changed line that is too long is shortened visibly, followed by what to do', async () => {
  const cwd = makeChain([{ agent: 'agent' }], { agent: sh('[ -e free ]') })
  await runChain(cwd)
  const step = { agent: 'agent', prompt: 'word '.repeat(40) }
  writeFileSync(join(cwd, CONFIGURATION), JSON.stringify({ chains: { c: { steps: [step] } } }))
  writeFileSync(join(cwd, 'free'), '')
  const { stderr } = await forkhestra(['resume'], { cwd })
  expect(stderr).toMatch(/ {2}\+ \{"chains".{100,}…\n {2}To use the new file, start a new run\n/)
})

test('a deleted configuration is reported', async () => {
  const cwd = makeChain([{ agent: 'agent' }], { agent: sh('[ -e free ]') })
  await runChain(cwd)
  rmSync(join(cwd, CONFIGURATION))
  writeFileSync(join(cwd, 'free'), '')
  const { code, stderr } = await forkhestra(['resume'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain(
    `Warning: ${CONFIGURATION} can no longer be used (Configuration not found: ${CONFIGURATION}); the run continues`,
  )
})

test('show lists the open tasks of a complete run', async () => {
  const task = (id: number, status: string) =>
    `---\nid: TASK-00${id}\ntitle: x\nstatus: ${status}\n---\n`
  const cwd = makeChain([{ agent: 'agent', iterations: 2 }], {
    agent: sh('echo ORCHESTRA_COMPLETE'),
    'forge/tasks/TASK-001 - x.md': task(1, 'Done'),
    'forge/tasks/TASK-002 - x.md': task(2, 'Blocked'),
  })
  expect((await runChain(cwd)).code).toBe(0)
  const { stdout } = await forkhestra(['show'], { cwd })
  expect(stdout).toContain('\n  tasks of the project now: 1 open (1 blocked), 1 done\n')
})

test('the summary names the step that stopped the run, and the failures before it', async () => {
  const steps = [{ agent: 'two', onFail: 'continue' }, { agent: 'three' }, { agent: 'two' }]
  const cwd = makeChain(steps, { two: sh('exit 1'), three: sh('exit 2') })
  const { stdout } = await runChain(cwd)
  expect(stdout).toContain('[forkhestra] Also failed: step 1: two (exit 1)\n')
  expect(stdout).toContain('[forkhestra] Failed at step 2: three (exit 2)\n')
  const resumed = await forkhestra(['resume'], { cwd })
  expect(resumed.stdout + resumed.stderr).toContain('at step 2')
})

test('a line break in the path of the project does not forge a line', async () => {
  const outer = makeProject({})
  const cwd = join(outer, 'x\n[forkhestra] Chain complete')
  mkdirSync(join(cwd, 'forge'), { recursive: true })
  writeFileSync(join(cwd, 'fails'), sh('exit 3'), { mode: 0o755 })
  const { stdout, stderr } = await forkhestra(['./fails'], { cwd })
  const all = [stdout, stderr]
  for (const args of [['logs'], ['clean', '--keep', '9'], ['nope']]) {
    const finished = await forkhestra(args, { cwd })
    all.push(finished.stdout, finished.stderr)
  }
  all.push(tasks(cwd, ['init']), tasks(cwd, ['init']))
  for (const text of all) expect(text).not.toMatch(/^\[forkhestra\] Chain complete/m)
})
