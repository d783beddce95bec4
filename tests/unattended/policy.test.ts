import { expect, test } from 'bun:test'
import { executeChain, getChain, loadConfig, UserError } from 'forkhestra'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const ok = sh('exit 0')
const config = (content: object) => ({ 'forge/orch/chains.json': JSON.stringify(content) })

test('validate names the place of each wrong limit, gate and target', async () => {
  const cwd = makeProject({
    ok,
    'forge/orch/chains.json': `{
  "chains": {
    "a": { "timeout": "soon", "steps": [{ "agent": "ok", "verify": [] }] },
    "b": { "steps": [{ "agent": "ok", "name": "x", "onFail": { "goto": "y" } }] }
  }
}`,
  })
  const { code, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  expect(stderr)
    .toBe(`[forkhestra] Error: forge/orch/chains.json:3:23  chains.a.timeout is "soon", expected a duration greater than zero such as "30m" or "1h30m", or "off"
  forge/orch/chains.json:3:68  chains.a.steps[0].verify is an empty list, expected at least one command
  forge/orch/chains.json:4:72  chains.b.steps[0].onFail.goto is "y", expected "x" or 1
`)
})

test('validate checks the agents and steps of onFail', async () => {
  const cwd = makeProject({
    ok,
    other: ok,
    ...config({
      agents: { ok: { onFail: { goto: 'fix' } }, other: { onFail: { run: 'gone' } } },
      chains: {
        fine: { steps: [{ agent: 'ok' }, { agent: 'ok', name: 'fix' }] },
        wrong: { steps: [{ agent: 'ok' }, { agent: 'other' }] },
      },
    }),
  })
  const { code, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('Agent not found: gone')
  expect(stderr).toContain(
    "\"onFail\" of 'ok' goes to step 'fix', which does not exist in chain 'wrong'.",
  )
  expect(stderr).not.toContain("'fine'")
})

test('the dry run shows limits and gates, from the configuration and the command line', async () => {
  const cwd = makeProject({
    ok,
    ...config({
      chains: {
        c: {
          maxCostUsd: 5,
          steps: [
            { agent: 'ok', iterations: 2, timeout: '1m', onFail: { run: 'ok' } },
            { agent: 'ok', verify: 'true' },
          ],
        },
      },
    }),
  })
  const options = ['--chain', 'c', '--verify', 'npm test', '--max-duration', '8h', '--stall', '2']
  const { code, stdout, stderr } = await forkhestra([...options, '--dry-run'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain("budgets cannot see 'ok': plain programs do not report usage")
  expect(stderr).toContain('is not in a git repository')
  expect(stdout).toBe(`[forkhestra] Dry run - would execute the following chain:

  The chain as a whole
       budget: $5.00, 8 h

  1. ok - loop up to 2 iterations
       verify: npm test
       limits: 60 s per iteration, 2 iterations without progress, retries for 2 h, waits up to 6 h
       on failure: run step 3 (ok)
  2. ok - run once
       verify: npm test
       limits: 4 h, retries for 2 h, waits up to 6 h
  3. ok - run once, only on failure
       limits: 4 h, retries for 2 h, waits up to 6 h

[forkhestra] Dry run complete. No agents were executed.
`)
})

test('the dry run with --json contains the whole policy', async () => {
  const cwd = makeProject({
    ok,
    ...config({
      chains: {
        c: { when: 'true', steps: [{ agent: 'ok', name: 'x', onFail: { run: 'ok' } }] },
      },
    }),
  })
  const args = ['--chain', 'c', '--dry-run', '--json', '--max-tokens', '5']
  const { stdout } = await forkhestra(args, { cwd })
  expect(JSON.parse(stdout)).toMatchObject({
    type: 'dry_run',
    steps: [
      { step: 1, name: 'x', policy: { timeoutMs: 14_400_000, onFail: { kind: 'run', step: 2 } } },
      { step: 2, isRecovery: true, policy: { stall: 0 } },
    ],
    chain: { budget: { tokens: 5 }, when: 'true', hooks: {} },
  })
})

test('a wrong limit on the command line is refused with an example', async () => {
  const { code, stderr } = await forkhestra(['ok', '--max-cost', 'much'], {
    cwd: makeProject({ ok }),
  })
  expect(code).toBe(2)
  expect(stderr).toContain(
    "--max-cost is 'much', expected an amount in US dollars greater than 0.\n  For example: --max-cost 5, or --max-cost 2.50",
  )
})

test('the plan contains the hash of its configuration', async () => {
  const cwd = makeProject({ ok, ...config({ chains: {} }) })
  const [started] = (await forkhestra(['ok', '--json'], { cwd })).stdout.split('\n')
  const hash = new Bun.CryptoHasher('sha256').update('{"chains":{}}').digest('hex')
  expect(JSON.parse(started!)).toMatchObject({
    type: 'run_started',
    plan: { configuration: { file: 'forge/orch/chains.json', hash } },
  })
})

test('the library accepts the fields of a step and of a chain', async () => {
  const cwd = makeProject({
    say: sh('echo "$A $B" >>said'),
    ...config({
      chains: {
        c: { env: { A: '1' }, steps: [{ agent: 'say', env: { B: '2' }, verify: 'exit 3' }] },
      },
    }),
  })
  const { steps, env } = getChain((await loadConfig(cwd))!, 'c')
  const say = `${cwd}/say`
  const result = await executeChain({
    cwd,
    steps: steps.map((step) => ({ ...step, agent: say })),
    policy: { env },
  })
  expect(result).toMatchObject({ success: false, steps: [{ result: { reason: 'gate_failed' } }] })
  expect(await Bun.file(`${cwd}/said`).text()).toBe('1 2\n')
})

test.each([
  [{ stall: -1 }, 'chain.steps[0].stall: expected a whole number, 0 or more.'],
  [{ timeout: 'soon' }, 'chain.steps[0].timeout: expected a duration greater than zero'],
  [{ onFail: { goto: 'x' } }, 'chain.steps[0].onFail.goto: expected 1.'],
])('the library refuses %j', (fields, message) => {
  const cwd = makeProject({ ok })
  const steps = [{ agent: './ok', iterations: 1, loop: false, ...fields }]
  expect(executeChain({ cwd, steps })).rejects.toThrow(message)
  expect(executeChain({ cwd, steps })).rejects.toBeInstanceOf(UserError)
})
