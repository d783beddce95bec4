import { expect, test } from 'bun:test'
import { BUILD, claude, PLAN, run, runJson } from '../support/builders.ts'
import { makeProject, type Files } from '../support/project.ts'

// To which steps a gate of the command line applies.

const SPECS: Files = { 'forge/orch/specs/PLAN.md': 'Three pages.\n' }
/** Fails until something was built. */
const GATE = 'grep -q TASK-003 built'
const PLAY = claude({ '*planner': PLAN, planner: PLAN, '*': BUILD })

const configured = (agents: object, c?: object): Files => ({
  'forge/orch/chains.json': JSON.stringify({ agents, chains: c === undefined ? {} : { c } }),
})

test('--verify does not apply to the planner', async () => {
  const cwd = makeProject({ ...SPECS, ...PLAY })
  const { code, ends } = await runJson(cwd, '--chain', 'build-all', '--verify', GATE)
  expect(ends).toEqual([
    ['marker', 1],
    ['marker', 3],
  ])
  expect(code).toBe(0)
})

test('--until does not apply to the planner', async () => {
  const planner = ['if [ -e planned ]; then', ...PLAN, 'fi', 'touch planned']
  const cwd = makeProject({ ...SPECS, ...claude({ planner, '*': BUILD }) })
  const { code, ends } = await runJson(cwd, '--chain', 'build-all', '--until', 'true')
  expect(ends).toEqual([
    ['marker', 2],
    ['until', 1],
  ])
  expect(code).toBe(0)
})

const NOT_HERE = 'not for this step, which does not change code'

test('the dry run shows to which steps a gate applies', async () => {
  const cwd = makeProject({ ...SPECS, ...PLAY })
  const { stdout } = await run(cwd, '--chain', 'build-all', '--verify', GATE, '--dry-run')
  expect(stdout).toContain(`  1. planner - loop up to 3 iterations
       prompt: (built-in)
       --verify: ${NOT_HERE}
`)
  expect(stdout.match(/ verify: /g)).toHaveLength(1)
  expect(stdout).toContain(`       verify: ${GATE}\n`)
})

test.each([
  [{ systemPromptText: 'x' }, true],
  [{ systemPromptText: 'x', allowedTools: ['Read', 'Bash'] }, false],
  [{ systemPromptText: 'x', allowedTools: ['Read', 'Edit(src/**)'] }, true],
  [{ systemPromptText: 'x', allowedTools: ['NotebookEdit'] }, true],
  [{ systemPromptText: 'x', allowedTools: ['MultiEdit'] }, true],
  [{ systemPromptText: 'x', disallowedTools: ['Write', 'Edit'] }, true],
  [
    { systemPromptText: 'x', disallowedTools: ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'] },
    false,
  ],
  [{ systemPromptText: 'x', permissionMode: 'plan' }, false],
  [{ engine: 'native', allowedTools: ['read', 'bash'] }, false],
  [{ engine: 'native', allowedTools: ['read', 'write'] }, true],
  [{ engine: 'native' }, true],
])('an agent with %j is checked: %p', async (agent, isChecked) => {
  const cwd = makeProject({ ...configured({ a: agent }), ...PLAY })
  const { stdout, stderr } = await run(cwd, 'a:2', '--verify', 'npm test', '--dry-run')
  expect(stdout.includes('       verify: npm test\n')).toBe(isChecked)
  expect(stdout.includes(NOT_HERE)).toBe(!isChecked)
  expect(stderr.includes('--verify has no effect: no step changes code')).toBe(!isChecked)
})

test.each(['planner', 'fk:planner', 'task-manager'])(
  'an agent called %s counts as a planner',
  async (name) => {
    const cwd = makeProject({ ...configured({ [name]: { systemPromptText: 'x' } }), ...PLAY })
    const { stdout } = await run(cwd, `${name}:2 -> builder:2`, '--verify', 'npm test', '--dry-run')
    expect([stdout.split(NOT_HERE).length, stdout.split(' verify: npm test').length]).toEqual([
      2, 2,
    ])
  },
)

test('a program is checked, whatever its name', async () => {
  const cwd = makeProject({ planner: '#!/bin/sh\necho ORCHESTRA_COMPLETE\n' })
  expect((await runJson(cwd, './planner:1', '--verify', 'false')).ends).toEqual([
    ['gate_failed', 1],
  ])
})

test('a gate of a step stays, and one of the chain that applies to the planner is a warning', async () => {
  const steps = [
    { agent: 'planner', iterations: 1, verify: 'test -d forge/tasks' },
    { agent: 'builder', iterations: 5 },
  ]
  const cwd = makeProject({ ...SPECS, ...PLAY, ...configured({}, { steps }) })
  const { stdout, stderr } = await run(cwd, '--chain', 'c', '--verify', GATE, '--dry-run')
  expect([stderr, stdout.includes('verify: test -d forge/tasks\n')]).toEqual(['', true])
  const [planner, builder] = steps
  const inherited = [{ ...planner, verify: undefined }, builder]
  const other = makeProject({
    ...SPECS,
    ...PLAY,
    ...configured({}, { verify: GATE, steps: inherited }),
  })
  expect((await run(other, '--chain', 'c', '--dry-run')).stderr).toBe(
    '[forkhestra] Warning: "verify" of the chain also applies to step 1 (planner), which does not change code; put it on the steps that do\n',
  )
})

test('resume follows the same rule', async () => {
  const cwd = makeProject({ ...SPECS, ...claude({ planner: ['exit 1'], '*': BUILD }) })
  expect((await run(cwd, 'planner -> builder:5')).code).toBe(1)
  await Bun.write(`${cwd}/claude`, `#!/bin/sh\n${PLAN.join('\n')}\n`)
  const { stdout } = await run(cwd, 'resume', '--verify', 'false')
  expect(stdout).toContain('[forkhestra] Done: planner (exit 0)\n')
  expect(stdout).toContain('Starting: builder')
})
