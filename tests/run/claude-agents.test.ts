import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { tasksOf } from '../support/queue.ts'

/** Notes how it was called, and does what its prompt says. */
const CLAUDE = sh(
  'for last; do :; done',
  'printf "%s\\n" "$@" > "args-$FORKHESTRA_AGENT_NAME"',
  'eval "$last" >&2',
  `printf '%s\\n' '{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"ORCHESTRA_COMPLETE"}]}}'`,
  `echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'`,
)

const REVIEWER = `---
name: reviewer
description: Use it when: code has changed. It reads \u001b[31mall\u001b[0m of it.
tools: Read, Grep, Bash(git diff:*)
model: haiku
color: purple
---

You review changes.
`

const ENV = { IS_SANDBOX: '1' }

function project(files: Files): string {
  return makeProject({ claude: CLAUDE, 'forge/.keep': '', ...files })
}

const run = (cwd: string, ...args: string[]) => forkhestra(args, { cwd, env: ENV })

function argsOf(cwd: string, name = 'main'): (option: string) => string | undefined {
  const args = readFileSync(join(cwd, `args-${name}`), 'utf8').split('\n')
  return (option) => args[args.indexOf(option) + 1]
}

test('a Claude Code agent file works in a chain, unchanged', async () => {
  const cwd = project({ '.claude/agents/reviewer.md': REVIEWER })
  const { code, stdout, stderr } = await run(cwd, 'reviewer:3', '-p', 'true')
  expect(stderr).toContain(
    "Warning: 'reviewer' is .claude/agents/reviewer.md here, not the built-in agent.",
  )
  expect(stdout).toContain('Complete after 1 iteration')
  expect(code).toBe(0)
  const arg = argsOf(cwd)
  expect([arg('--model'), arg('--tools')]).toEqual(['haiku', 'Read,Grep,Bash'])
  const args = readFileSync(join(cwd, 'args-main'), 'utf8')
  expect(args).toContain('\n---\n\nYou review changes.\n')
  expect(args).not.toContain('color:')
})

test('a Claude Code agent file works in configured steps, and fields can be overridden', async () => {
  const chains = { c: { steps: [{ agent: 'reviewer', prompt: 'true' }] } }
  const agents = { reviewer: { model: 'opus' } }
  const cwd = project({
    '.claude/agents/reviewer.md': REVIEWER,
    'forge/orch/chains.json': JSON.stringify({ agents, chains }),
  })
  expect((await run(cwd, '--chain', 'c')).code).toBe(0)
  expect(argsOf(cwd)('--model')).toBe('opus')
  expect(argsOf(cwd)('--tools')).toBe('Read,Grep,Bash')
})

test('a Claude Code agent file works for queued tasks, with the parent’s model by default', async () => {
  const plain = '---\ndescription: x\ntools:\n  - Read\n---\nYou help.\n'
  const prompt = [
    '/push name=a agent=reviewer "true"',
    '/push name=b agent=helper "true"',
    '/push name=c agent=helper model=sonnet "true"',
    '/run',
    'forkhestra receive --from a,b,c',
  ].join('\n')
  const agents = { lead: { systemPromptText: 'You lead.', model: 'opus' } }
  const cwd = project({
    '.claude/agents/reviewer.md': REVIEWER,
    '.claude/agents/helper.md': plain,
    'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }),
  })
  const { code, stderr } = await run(cwd, 'lead', '-p', prompt)
  expect(stderr).not.toContain('Error')
  expect(code).toBe(0)
  expect((await tasksOf(cwd)).map(({ end }) => end?.success)).toEqual([true, true, true])
  const models = ['a', 'b', 'c'].map((name) => argsOf(cwd, name)('--model'))
  expect(models).toEqual(['haiku', 'opus', 'sonnet'])
  expect(readFileSync(join(cwd, 'args-b'), 'utf8')).toContain('You help.')
})

test('a built-in chain keeps its built-in agents', async () => {
  const planner = '---\nname: builder\n---\nYou build castles.\n'
  const cwd = project({ '.claude/agents/builder.md': planner })
  await run(cwd, '--chain', 'build', '-p', 'true')
  expect(readFileSync(join(cwd, 'args-main'), 'utf8')).not.toContain('castles')
  await run(cwd, 'builder', '-p', 'true')
  expect(readFileSync(join(cwd, 'args-main'), 'utf8')).toContain('You build castles.')
})

test('list, validate and the dry run say where an agent comes from', async () => {
  const cwd = project({
    '.claude/agents/reviewer.md': REVIEWER,
    '.claude/agents/README.md': '# Our agents\n',
  })
  const { stdout: list, stderr } = await run(cwd, 'list')
  expect(list).toStartWith(`Agents in .claude/agents:
  reviewer  Use it when: code has changed. It reads  [31mall [0m of it.

Built-in chains:
`)
  expect(list.split('Built-in agents:')[1]).not.toContain('\n  reviewer ')
  expect(stderr).toBe('')
  const json = JSON.parse((await run(cwd, 'list', '--json')).stdout) as { agents: unknown[] }
  expect(json.agents[0]).toEqual({
    description: expect.stringContaining('Use it when: code has changed.'),
    name: 'reviewer',
    kind: 'direct',
    isBuiltIn: false,
    file: '.claude/agents/reviewer.md',
  })
  expect((await run(cwd, 'list', '--plain')).stdout).toContain('agent\treviewer\tdirect\n')
  const { stdout: valid } = await run(cwd, 'validate')
  expect(valid).toContain('Claude Code agents: reviewer (.claude/agents/reviewer.md).\n')
  const { stdout: dry } = await run(cwd, 'reviewer:3', '-p', 'Go.', '--dry-run')
  expect(dry).toContain('1. reviewer - loop up to 3 iterations')
  expect(dry).toContain('agent: .claude/agents/reviewer.md')
  const event: unknown = JSON.parse((await run(cwd, 'reviewer', '--dry-run', '--json')).stdout)
  expect(event).toMatchObject({ steps: [{ agentFile: '.claude/agents/reviewer.md' }] })
})

test('names and values are shown without control sequences', async () => {
  const red = '\u001b[31m'
  const cwd = project({
    [`.claude/agents/${red}x.md`]: '---\n---\nYou are red.\n',
    [`.claude/agents/${red}y.md`]: `---\nmodel: "${red}\u009b1m${'m'.repeat(9999)}"\n---\nY.\n`,
  })
  const shown = await Promise.all(
    [['list'], ['list', '--plain'], ['validate'], ['doctor']].map((args) => run(cwd, ...args)),
  )
  for (const { stdout, stderr } of shown) {
    // oxlint-disable-next-line no-control-regex
    expect(`${stdout}${stderr}`).not.toMatch(/[\u001b\u009b]/)
    expect(stderr.length).toBeLessThan(500)
  }
  expect(shown[0]?.stdout).toContain('[31mx  direct')
})

test('agents of the user are found unless something else has their name', async () => {
  const home = makeProject({
    '.claude/agents/poet.md': '---\nname: poet\n---\nYou rhyme.\n',
    '.claude/agents/planner.md': '---\nname: planner\n---\nYou dream.\n',
  })
  const cwd = project({})
  const env = { ...ENV, HOME: home }
  const { stdout } = await forkhestra(['list'], { cwd, env })
  expect(stdout).toStartWith('Agents in ~/.claude/agents:\n  poet  direct\n\n')
  expect((await forkhestra(['poet', '-p', 'true'], { cwd, env })).code).toBe(0)
  expect(readFileSync(join(cwd, 'args-main'), 'utf8')).toContain('You rhyme.')
})

test('a broken file is reported with its place, and nothing runs', async () => {
  const cwd = project({
    '.claude/agents/reviewer.md': REVIEWER.replace('model: haiku', 'model: [haiku'),
    '.claude/agents/a.md': '---\nname: twin\n---\nA.\n',
    '.claude/agents/b.md': '---\nname: twin\n---\nB.\n',
  })
  const asked = await run(cwd, 'reviewer', '-p', 'true')
  expect(asked.stderr).toStartWith(
    '[forkhestra] Error: .claude/agents/reviewer.md:5  The frontmatter is not valid YAML.\n',
  )
  expect(asked.code).toBe(2)
  const twin = await run(cwd, 'ls', '-p', '/push agent=twin x\nGo.')
  expect(twin.stderr).toContain("b.md:2  The name 'twin' is also used by .claude/agents/a.md.")
  expect(twin.code).toBe(2)
  const { stdout, code } = await run(cwd, 'validate', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ ok: false, problems: [{}, {}] })
  expect(code).toBe(2)
  const { stderr } = await run(cwd, 'list')
  expect(stderr.match(/Warning: \.claude/g)).toHaveLength(2)
  const doctor = JSON.parse((await run(cwd, 'doctor', '--json')).stdout) as {
    checks: { name: string; state: string; text: string }[]
  }
  expect(doctor.checks.find(({ name }) => name === 'agents')).toMatchObject({
    state: 'problem',
    text: expect.stringContaining('(and 1 more)'),
  })
  // Other agents still run.
  expect((await run(cwd, 'true')).code).toBe(0)
})

test('a FIFO in the agents folder is ignored', async () => {
  const cwd = project({ '.claude/agents/ok.md': '---\nname: ok\n---\nFine.\n' })
  Bun.spawnSync(['mkfifo', join(cwd, '.claude/agents/pipe.md')])
  expect((await run(cwd, 'ok', '-p', 'true')).code).toBe(0)
  const { code, stderr } = await run(cwd, 'pipe', '-p', 'true')
  expect(stderr).toContain('.claude/agents/pipe.md is not a regular file.')
  expect(code).toBe(2)
})

test('list shows the file and description of an agent that the configuration also mentions', async () => {
  const cwd = makeProject({
    '.claude/agents/critic.md':
      '---\nname: critic\ndescription: Finds faults.\n---\nFind faults.\n',
    'forge/orch/chains.json': JSON.stringify({
      agents: { critic: { timeout: '20m' } },
      chains: {},
    }),
  })
  const { stdout } = await forkhestra(['list'], { cwd })
  expect(stdout).toMatch(/^Agents in \.claude\/agents:\n {2}critic +Finds faults\.$/m)
})
