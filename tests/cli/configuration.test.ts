import { expect, test } from 'bun:test'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const say = sh('echo "said: $*"')
const chain = (steps: unknown[], more: object = {}) =>
  JSON.stringify({ chains: { c: { steps } }, ...more })

test('the configuration is searched for in three places, the newest layout first', async () => {
  const of = (word: string) =>
    `{ "chains": { "c": { "steps": [{ "agent": "say", "args": ["${word}"] }] } } }`
  const cwd = makeProject({
    say,
    'forge/orch/chains.json': of('new'),
    'forge/chains.json': of('older'),
    '.config/forkhestra/chains.json': of('user'),
    'other.json': of('other'),
  })
  const run = async (...args: string[]) =>
    (await forkhestra(['--chain', 'c', ...args], { cwd })).stdout
  expect(await run('--config', 'other.json')).toContain('said: other')
  expect(await run()).toContain('said: new')
  await Bun.$`rm forge/orch/chains.json`.cwd(cwd)
  expect(await run()).toContain('said: older')
  await Bun.$`rm forge/chains.json`.cwd(cwd)
  expect(await run()).toContain('said: user')
})

test('paths in the user configuration are relative to it', async () => {
  const cwd = makeProject({
    '.config/forkhestra/chains.json': chain([{ agent: './say', promptFile: 'p.md' }]),
    '.config/forkhestra/p.md': 'from the user',
    '.config/forkhestra/say': say,
  })
  const { stdout } = await forkhestra(['--chain', 'c'], { cwd })
  expect(stdout).toContain('said: from the user')
})

test('comments and trailing commas are allowed', async () => {
  const cwd = makeProject({
    say,
    'forge/orch/chains.json':
      '// chains\n{ "chains": { "c": { /* steps */ "steps": [{ "agent": "say", },], }, }, }\n',
  })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
})

test('all mistakes in a file are listed at once with line, column, path, found and expected value', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json': `{
  "agents": { "a": { "model": "sonet", "maxTurn": 5 } },
  "chains": {
    "build": { "steps": [{ "agent": "a", "iterations": "three" }] },
    "empty": { "steps": [] }
  }
}
`,
  })
  const { code, stdout, stderr } = await forkhestra(['--chain', 'build'], { cwd })
  expect(code).toBe(2)
  expect(stdout).toBe('')
  expect(stderr)
    .toBe(`[forkhestra] Error: forge/orch/chains.json:2:31  agents.a.model is "sonet", expected "sonnet", "opus", "haiku" or a full model id such as "claude-sonnet-5-5" (with "engine": "native" also provider/id such as "openai/gpt-6-sol") (did you mean 'sonnet'?)
  forge/orch/chains.json:2:40  agents.a.maxTurn is unknown (did you mean 'maxTurns'?)
  forge/orch/chains.json:4:56  chains.build.steps[0].iterations is "three", expected a whole number from 1 to 100000
  forge/orch/chains.json:5:25  chains.empty.steps is an empty list, expected at least one step
`)
})

test('a broken configuration is an error for typed chains as well', async () => {
  const cwd = makeProject({ say, 'forge/orch/chains.json': '{ "chains": ' })
  const { code, stderr } = await forkhestra(['say'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('forge/orch/chains.json:1:13')
})

test('an unknown chain lists the known ones with their descriptions', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json': JSON.stringify({
      chains: {
        build: { description: 'Build it', steps: [{ agent: 'x' }] },
        plan: { steps: [{ agent: 'x' }] },
      },
    }),
  })
  const { code, stderr } = await forkhestra(['--chain', 'biuld'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toBe(`[forkhestra] Error: There is no chain 'biuld' (did you mean 'build'?)
  Available chains:
    build-all: Plan tasks from the specs, then build them one by one
    build: Build it
    plan
    ralph: Plan tasks from the specs in ralph/, then build them one by one
`)
})

test('an agent whose system prompt file is missing is refused', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json': chain([{ agent: 'fk:planner' }], {
      agents: { 'fk:planner': { systemPrompt: 'prompts/foo.md' } },
    }),
  })
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(
    "Agent 'fk:planner' references systemPrompt 'prompts/foo.md' which does not exist",
  )
})

test('every agent of the chain is checked before the first one runs', async () => {
  const cwd = makeProject({ say: sh('touch ran'), text: 'no program' })
  const { code, stderr } = await forkhestra(['say -> nowhere:3 -> ./gone -> ./text'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('Agent not found: nowhere')
  expect(stderr).toContain('Agent not found: ./gone')
  expect(stderr).toContain(`Agent './text' (${cwd}/text) is not executable`)
  expect(await Bun.file(`${cwd}/ran`).exists()).toBe(false)
})

test('namespaced agents are found on PATH, and only a number is a count', async () => {
  const cwd = makeProject({ 'fk:say': say })
  expect((await forkhestra(['fk:say'], { cwd })).stdout).toContain('[forkhestra] Running: fk:say')
  expect((await forkhestra(['fk:say:2'], { cwd })).stdout).toContain(
    'Starting: fk:say (max 2 iterations)',
  )
  expect((await forkhestra(['fk:sya'], { cwd })).stderr).toContain(
    "The count 'sya' is not a number",
  )
})

test('variables are replaced once in arguments and prompts, and missing ones are reported together', async () => {
  const cwd = makeProject({
    say,
    'forge/orch/chains.json': JSON.stringify({
      agents: { say: { defaultPrompt: 'never ${UNUSED_HERE}' } },
      chains: {
        c: {
          prompt: 'for ${WHO} at ${STEP}',
          steps: [{ agent: 'say', args: ['${A}', '$${A}', '${not a name}'] }],
        },
      },
    }),
  })
  const missing = await forkhestra(['--chain', 'c'], { cwd })
  expect(missing.code).toBe(2)
  expect(missing.stderr).toContain("Variable 'A' referenced in 'say' but not provided")
  expect(missing.stderr).toContain("Variable 'WHO' referenced in chain 'c' but not provided")
  expect(missing.stderr).not.toContain('UNUSED_HERE')
  const { stdout, stderr } = await forkhestra(
    ['--chain', 'c', 'A=x=y ${WHO}', 'WHO=all', 'MORE=1'],
    { cwd },
  )
  expect(stdout).toContain('said: x=y ${WHO} ${A} ${not a name} for all at 1\n')
  expect(stderr).toBe("[forkhestra] Warning: Variable 'MORE' is set, but nothing references it.\n")
  const taken = await forkhestra(['--chain', 'c', 'STEP=1'], { cwd })
  expect([taken.code, taken.stderr.includes("'STEP' is set by forkhestra")]).toEqual([2, true])
})

test('the built-in variables change with the iteration', async () => {
  const cwd = makeProject({
    say,
    'forge/orch/chains.json': chain([
      {
        agent: 'say',
        iterations: 2,
        args: ['${ITERATION}/${MAX_ITERATIONS}'],
        prompt: '${RUN_ID}',
      },
    ]),
  })
  const { stdout } = await forkhestra(['--chain', 'c'], { cwd })
  expect(stdout).toMatch(/said: 1\/2 \d{8}-\d{6}-\w{6}\n/)
  expect(stdout).toMatch(/said: 2\/2 \d{8}-\d{6}-\w{6}\n/)
})

test('the dry run shows every step, and leaves runtime variables as written', async () => {
  const cwd = makeProject({
    say: sh('touch ran'),
    'p.md': `${'long '.repeat(30)}\nsecond line`,
    'forge/orch/chains.json': chain([
      { agent: 'say', iterations: 2, prompt: 'Break down ${WHAT}\nin iteration ${ITERATION}' },
      { agent: 'say', args: ['--task', 'TASK-001'] },
      { agent: 'say', promptFile: 'p.md' },
    ]),
  })
  const { code, stdout } = await forkhestra(['--chain', 'c', 'WHAT=it', '--dry-run'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toBe(`[forkhestra] Dry run - would execute the following chain:

  1. say - loop up to 2 iterations
       prompt: "Break down it\\nin iteration \${ITERATION}"
       limits: 4 h per iteration, retries for 2 h, waits up to 6 h
  2. say - run once
       args: ["--task","TASK-001"]
       limits: 4 h, retries for 2 h, waits up to 6 h
  3. say - run once
       prompt: "${'long '.repeat(20)}..."
       limits: 4 h, retries for 2 h, waits up to 6 h

[forkhestra] Dry run complete. No agents were executed.
`)
  expect(await Bun.file(`${cwd}/ran`).exists()).toBe(false)
  const verbose = await forkhestra(['--chain', 'c', 'WHAT=it', '--dry-run', '-v'], { cwd })
  expect(verbose.stdout).toContain('\\nsecond line"')
  expect(verbose.stdout).toContain(
    '       prompt from: step, file p.md\n       kind: binary\n       command: [',
  )
})

test('the dry run refuses what the run would refuse', async () => {
  const cwd = makeProject()
  expect((await forkhestra(['nowhere', '--dry-run'], { cwd })).code).toBe(2)
})

test('list shows groups as they are typed', async () => {
  const team = [
    { agent: 'a', iterations: 9, copies: 2 },
    { chain: 'plan', iterations: 2 },
  ]
  const steps = [
    { sequence: team, iterations: 3 },
    { parallel: [{ agent: 'b' }, { fallback: [{ agent: 'b' }, { agent: 'a' }] }], copies: 2 },
  ]
  const cwd = makeProject({ 'forge/orch/chains.json': chain(steps) })
  const { stdout } = await forkhestra(['list', '--plain'], { cwd })
  expect(stdout).toStartWith('chain\tc\t(a:9*2 -> @plan:2):3 -> (b & (b || a))*2\n')
})

test('list shows chains and agents as text, plain and JSON', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json': chain([{ agent: 'say', iterations: 3 }, { agent: 'b' }], {
      agents: { x: { systemPromptText: 'You are x.' }, say: {} },
    }),
  })
  const { stdout } = await forkhestra(['list'], { cwd })
  expect(stdout).toBe(`Chains in forge/orch/chains.json:
  c  say:3 -> b

Agents:
  x    direct
  say  binary

Built-in chains:
  build-all  Plan tasks from the specs, then build them one by one
  build      Build the tasks that are ready, one by one
  plan       Plan tasks from the specs without building them
  ralph      Plan tasks from the specs in ralph/, then build them one by one

Built-in agents:
  planner                 direct
  builder                 direct
  reviewer                direct
  fk:planner              direct
  fk:builder              direct
  fk:reviewer             direct
  forge-task-manager      direct
  forge-task-coordinator  direct
  forge-task-worker       direct
`)
  const { stdout: plain } = await forkhestra(['list', '--plain'], { cwd })
  expect(plain).toStartWith('chain\tc\tsay:3 -> b\nchain\tbuild-all\t')
  expect(plain).toContain('\nagent\tx\tdirect\nagent\tsay\tbinary\nagent\tplanner\tdirect\n')
  const json: unknown = JSON.parse((await forkhestra(['list', '--json'], { cwd })).stdout)
  expect(json).toMatchObject({
    chains: [
      {
        name: 'c',
        text: 'say:3 -> b',
        steps: [{ agent: 'say', iterations: 3 }, { agent: 'b' }],
        isBuiltIn: false,
      },
      { name: 'build-all', isBuiltIn: true },
      { name: 'build' },
      { name: 'plan' },
      { name: 'ralph' },
    ],
  })
})

test('validate checks every chain and file, and reports all problems', async () => {
  const cwd = makeProject({
    say,
    'forge/orch/chains.json': chain(
      [{ agent: 'say', promptFile: 'gone.md' }, { agent: 'nowhere' }],
      {
        agents: { x: { systemPrompt: 'gone.md', mcpConfig: 'gone.json' } },
      },
    ),
  })
  const { code, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  for (const text of [
    "Agent 'x' references systemPrompt 'gone.md' which does not exist",
    'Agent not found: nowhere',
    'Prompt file not found: gone.md',
  ]) {
    expect(stderr).toContain(text)
  }
  const json: unknown = JSON.parse((await forkhestra(['validate', '--json'], { cwd })).stdout)
  expect(json).toMatchObject({
    ok: false,
    problems: [
      { message: expect.stringContaining("Agent 'x' references systemPrompt") },
      { message: expect.stringContaining("Agent 'x' references mcpConfig") },
      { message: 'Agent not found: nowhere' },
      {},
    ],
  })
  const fine = makeProject({ say, 'forge/orch/chains.json': chain([{ agent: 'say' }]) })
  expect((await forkhestra(['validate', 'x'], { cwd: fine })).stderr).toContain(
    "Unexpected argument 'x'",
  )
  const good = await forkhestra(['validate'], { cwd: fine })
  expect([good.code, good.stdout]).toEqual([
    0,
    'forge/orch/chains.json is valid: 1 chain, no agents.\n',
  ])
})

test('agent defaults of the user configuration apply to typed chains', async () => {
  const cwd = makeProject({
    say,
    '.config/forkhestra/chains.json': '{"agents":{"say":{"defaultPromptFile":"p.md"}},"chains":{}}',
    '.config/forkhestra/p.md': 'from the user',
  })
  expect((await forkhestra(['say'], { cwd })).stdout).toContain('said: from the user')
})

test('files that a program agent references must exist as well', async () => {
  const agents = { say: { settings: 'gone.json' } }
  const cwd = makeProject({ say, 'forge/orch/chains.json': chain([{ agent: 'say' }], { agents }) })
  const { code, stderr } = await forkhestra(['say'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain("Agent 'say' references settings 'gone.json' which does not exist")
})

test('a duplicate key does not hide other mistakes', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json':
      '{"chains":{"a":{"steps":[]},"a":{"steps":[1]},"b":{"stepz":[]},"c\\u001b":{"steps":[{"agent":"x"}]}}}',
  })
  const { stderr } = await forkhestra(['x'], { cwd })
  expect(stderr).toContain('chains.a is defined twice')
  expect(stderr).toContain("chains.b.stepz is unknown (did you mean 'steps'?)")
  expect(stderr).toContain('has control characters in its name')
  expect(stderr).not.toContain('chains.a.steps')
})

test('the hint for an unknown agent says what was probably meant', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json': chain([{ agent: 'say:3' }, { agent: 'say it' }]),
  })
  expect((await forkhestra(['c'], { cwd })).stderr).toContain('forkhestra --chain c')
  const { stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(stderr).toContain('"agent": "say", "iterations": 3')
  expect(stderr).toContain('Put arguments in "args"')
})

test('validate warns of an agent that cannot start and that no chain uses', async () => {
  const agents = { helper: { defaultPrompt: 'x' }, './gone': {}, 'task-manager': {}, ls: {} }
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) })
  const { code, stdout } = await forkhestra(['validate'], { cwd })
  expect([code, stdout]).toEqual([
    0,
    `forge/orch/chains.json is valid: no chains, 4 agents.
Warning: Agent 'helper' in the configuration has no system prompt, and there is no program named 'helper' on PATH.
  Give it "systemPromptText" or "systemPrompt" to make it a claude agent, or install the program.
Warning: Agent not found: ./gone
  There is no such file in ${cwd}.
`,
  ])
  const json = await forkhestra(['validate', '--json'], { cwd })
  const warnings = [expect.stringContaining("Agent 'helper'"), 'Agent not found: ./gone']
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, warnings })
})

test('validate checks every native agent, even if no chain uses it', async () => {
  const agents = {
    typo: { engine: 'native', model: 'sonnet', allowedTools: ['Raed'] },
    part: { engine: 'native', model: 'sonnet', allowedTools: ['Bash(git *)'] },
    lost: { engine: 'native', model: 'compatible/x' },
  }
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) })
  const { code, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  for (const name of Object.keys(agents)) expect(stderr).toContain(`Agent '${name}'`)
})
