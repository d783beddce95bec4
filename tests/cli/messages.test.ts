import { expect, test } from 'bun:test'
import { dirname, join } from 'node:path'
import { version } from '../../package.json'
import { environment, FORKHESTRA, forkhestra, shell } from '../support/forkhestra.ts'
import { McpClient } from '../support/mcp.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

const env = { IS_SANDBOX: '1' }
const claude = sh('exit 0')
const chains = (content: object) => ({ 'forge/orch/chains.json': JSON.stringify(content) })

test('the error for an agent without a system prompt differs from that for an unknown agent', async () => {
  const cwd = makeProject(chains({ agents: { helper: { defaultPrompt: 'x' } }, chains: {} }))
  const { code, stderr } = await forkhestra(['helper'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toStartWith(
    "[forkhestra] Error: Agent 'helper' in the configuration has no system prompt, and there is no program named 'helper' on PATH.\n",
  )
  expect(stderr).toContain('"systemPromptText"')
  expect(stderr).not.toContain('did you mean')
})

test.each([
  ['if the specs are missing', { claude }],
  ['if claude is missing', { 'forge/orch/specs/PLAN.md': 'Build it.' }],
])('a program shadowed by a built-in agent is reported %s', async (_, files) => {
  const cwd = makeProject({ planner: sh('echo program'), ...files })
  const { code, stderr } = await forkhestra(['planner:3'], {
    cwd,
    env: { ...env, PATH: `${cwd}:/usr/bin:/bin` },
  })
  expect(code).toBe(2)
  expect(stderr).toStartWith(
    `[forkhestra] Warning: 'planner' is the built-in agent, not ${cwd}/planner; to run the program, type its path.\n[forkhestra] Error: Agent 'planner' `,
  )
})

test('a misspelt variable is reported with the missing one', async () => {
  const step = { agent: 'echo', args: ['${TASK_ID}'] }
  const cwd = makeProject(chains({ chains: { one: { steps: [step] } } }))
  const { code, stderr } = await forkhestra(['--chain', 'one', 'TASKID=1'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toBe(
    "[forkhestra] Warning: Variable 'TASKID' is set, but nothing references it.\n" +
      "[forkhestra] Error: Variable 'TASK_ID' referenced in 'echo' but not provided\n" +
      '  Use TASK_ID=… instead of TASKID=…\n',
  )
})

test('a missing variable of a prompt file is reported alone, without those of lower levels', async () => {
  const steps = [{ agent: 'echo', promptFile: 'prompts/${NAME}.md' }]
  const cwd = makeProject(
    chains({
      agents: { echo: { defaultPrompt: '${THIRD}' } },
      chains: { one: { prompt: '${OTHER}', steps } },
    }),
  )
  const { code, stderr } = await forkhestra(['--chain', 'one'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toBe(
    "[forkhestra] Error: Variable 'NAME' referenced in 'echo' but not provided\n  Add NAME=value to the command.\n",
  )
})

test('a variable that is only in a prompt file is reported as not filled in there', async () => {
  const steps = [{ agent: 'echo', promptFile: 'f.md' }]
  const cwd = makeProject({ 'f.md': 'Build ${F}.', ...chains({ chains: { one: { steps } } }) })
  const { code, stderr } = await forkhestra(['--chain', 'one', 'F=login', 'G=x'], { cwd })
  expect(code).toBe(0)
  expect(stderr).toContain(
    'Warning: Variable \'F\' is not filled in inside prompt files. Put the text into "prompt" instead.\n',
  )
  expect(stderr).toContain("Warning: Variable 'G' is set, but nothing references it.\n")
})

test('a task manager whose prompt lacks a variable is not said to lack requirements', async () => {
  const steps = [{ agent: 'task-manager', prompt: 'Create tasks for ${FEATURE}' }]
  const cwd = makeProject({ claude, ...chains({ chains: { one: { steps } } }) })
  const { code, stderr } = await forkhestra(['--chain', 'one', '--dry-run'], { cwd, env })
  expect(code).toBe(2)
  expect(stderr).toBe(
    "[forkhestra] Error: Variable 'FEATURE' referenced in 'task-manager' but not provided\n  Add FEATURE=value to the command.\n",
  )
})

test('if a prompt file of a built-in agent is missing, the hint says how to write it', async () => {
  const agents = {
    planner: { systemPrompt: 'forge/orch/prompts/planner.md' },
    builder: { systemPrompt: './forge/orch/prompts/builder.md' },
    'fk:builder': { systemPrompt: 'system-prompts/fk/builder.md' },
  }
  const steps = Object.keys(agents).map((agent) => ({ agent, iterations: 3 }))
  const cwd = makeProject({ claude, ...chains({ agents, chains: { all: { steps } } }) })
  const refused = await forkhestra(['--chain', 'all', '--dry-run'], { cwd, env })
  expect(refused.code).toBe(2)
  expect(refused.stderr.match(/To write the built-in prompt there: .*/g)).toEqual([
    'To write the built-in prompt there: forkhestra init --eject-prompts',
    'To write the built-in prompt there: forkhestra init --eject-prompts',
  ])
  expect(refused.stderr).toContain(
    'Without "systemPrompt" the agent uses its built-in prompt; forkhestra init --eject-prompts writes it to forge/orch/prompts/fk/builder.md.',
  )
  const validated = await forkhestra(['validate'], { cwd, env })
  expect(validated.stderr).toContain('forkhestra init --eject-prompts')
  await forkhestra(['init', '--eject-prompts'], { cwd })
  const { code } = await forkhestra(['planner:3', '--dry-run'], { cwd, env })
  expect(code).toBe(0)
})

test('a task for an agent that does not exist is refused when it is pushed', async () => {
  const cwd = makeProject({ 'forge/.keep': '', worker: sh('exit 0') })
  const { code, stdout, stderr } = await forkhestra(['push', '--agent', './wroker', 'hi'], { cwd })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain("Error: Agent not found: ./wroker (did you mean './worker'?)\n")
  expect(runsOf(cwd)).toEqual([])
  expect((await forkhestra(['push', '--agent', 'wroker', 'hi'], { cwd })).code).toBe(2)
  expect((await forkhestra(['push', '--agent', './worker', 'hi'], { cwd })).code).toBe(0)
  const misspelt = ['push', '--agent', './worker', '--model', 'sonet', 'hi']
  expect((await forkhestra(misspelt, { cwd })).stderr).toContain("did you mean 'sonnet'?")
  await using client = await McpClient.start(cwd)
  expect(await client.call('push', { prompt: 'hi', agent: './wroker' })).toContain(
    'Agent not found: ./wroker',
  )
  expect(await client.call('push', { prompt: 'hi', agent: './worker', name: 'one' })).toBe(
    '{"name":"one"}',
  )
})

test('a bundled agent joins its arguments into one prompt', async () => {
  const cwd = makeProject({ claude: sh('for last; do :; done; printf %s "$last" > prompt') })
  const program = join(dirname(FORKHESTRA), 'forge-task-manager')
  const call = (...words: string[]) =>
    Bun.spawnSync([program, ...words], { cwd, env: environment({ cwd, env }) })
  const { exitCode } = call('Create', 'tasks', 'from', 'plan.md', '--print')
  expect(exitCode).toBe(0)
  expect(await Bun.file(join(cwd, 'prompt')).text()).toBe('Create tasks from plan.md')
  expect(call('help').stdout.toString()).toStartWith('Turn requirements into tasks.')
  expect(call('version').stdout.toString()).toBe(`${version}\n`)
})

test('a step with a name is shown by its name', async () => {
  const steps = [
    { name: 'lint', agent: 'sh', args: ['-c', 'exit 0'] },
    { name: 'build', agent: './agent', iterations: 2 },
    { agent: './agent' },
    { name: 'deploy', agent: 'sh', when: 'false' },
  ]
  const cwd = makeProject({
    agent: sh('echo ORCHESTRA_COMPLETE'),
    ...chains({ chains: { all: { steps } } }),
  })
  const { code, stdout } = await forkhestra(['--chain', 'all'], { cwd })
  expect(code).toBe(0)
  expect(stdout.split('\n').filter((line) => line.startsWith('[forkhestra] '))).toEqual([
    '[forkhestra] Running: lint',
    '[forkhestra] Done: lint (exit 0)',
    '[forkhestra] Starting: build (max 2 iterations)',
    '[forkhestra] Iteration 1/2',
    '[forkhestra] Complete after 1 iteration',
    '[forkhestra] Running: ./agent',
    '[forkhestra] Done: ./agent (exit 0)',
    '[forkhestra] Skipped: deploy (when: false)',
    '[forkhestra] Chain complete (4/4 steps, 1 skipped)',
  ])
})

test('the plain dry run shows every limit that can end a step', async () => {
  const cwd = makeProject({ claude, 'forge/orch/specs/PLAN.md': 'Build it.', '.git/HEAD': '' })
  const { stdout } = await forkhestra(['planner:9', '--dry-run'], { cwd, env })
  expect(stdout).toContain(
    '       limits: 4 h per iteration, 30 min of silence, 3 iterations without progress, retries for 2 h, waits up to 6 h\n',
  )
})

test('a run on a detached HEAD warns that commits of agents will be on no branch', async () => {
  const agents = { reader: { systemPromptText: 'Read.', allowedTools: ['Read', 'Bash'] } }
  const cwd = makeProject({
    claude: sh('echo ORCHESTRA_COMPLETE'),
    'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }),
  })
  const git = (line: string) => shell(`git ${line}`, cwd)
  await git('init -q && git config user.name a && git config user.email a@b')
  await git('add . && git commit -qm first')
  const start = async (agent: string) =>
    (await forkhestra([`${agent}:1`, '-p', 'Go'], { cwd, env })).stderr
  expect(await start('builder')).toBe('')
  await git('switch -q --detach')
  expect(await start('builder')).toBe(
    "[forkhestra] Warning: HEAD is detached, so agents' commits will not be on any branch; run: git switch -c NAME\n",
  )
  expect(await start('reader')).toBe('')
})

test('a run warns if git does not know who commits', async () => {
  const cwd = makeProject({ claude: sh('echo ORCHESTRA_COMPLETE') })
  await shell('git init -q; git config user.useConfigOnly true', cwd)
  const start = async (agent: string) =>
    (await forkhestra([agent, '-p', 'Go'], { cwd, env })).stderr
  expect(await start('builder')).toBe(
    '[forkhestra] Warning: git user.name and user.email are not set, so agents cannot commit; run: git config user.name NAME && git config user.email ADDRESS\n',
  )
  expect(await start('echo')).toBe('')
})
