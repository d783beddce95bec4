import { expect, test } from 'bun:test'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const say = sh('printf "said:<%s>\\n" "$1"')

test('the first level that has a prompt wins, inline before file', async () => {
  const step: Record<string, string> = { prompt: 'step', promptFile: 'step.md' }
  const chain: Record<string, string> = { prompt: 'chain', promptFile: 'chain.md' }
  const agent: Record<string, string> = { defaultPrompt: 'agent', defaultPromptFile: 'agent.md' }
  const expected = ['cli.md', 'step', 'step.md', 'chain', 'chain.md', 'agent', 'agent.md', '']
  const files = Object.fromEntries(
    ['cli', 'step', 'chain', 'agent'].map((name) => [`${name}.md`, `${name}.md`]),
  )
  const remove = [
    () => undefined,
    () => delete step['prompt'],
    () => delete step['promptFile'],
    () => delete chain['prompt'],
    () => delete chain['promptFile'],
    () => delete agent['defaultPrompt'],
    () => delete agent['defaultPromptFile'],
  ]
  for (const [index, want] of expected.entries()) {
    if (index > 0) remove[index - 1]!()
    const config = {
      agents: { say: agent },
      chains: { c: { ...chain, steps: [{ agent: 'say', ...step }] } },
    }
    const cwd = makeProject({ say, ...files, 'forge/orch/chains.json': JSON.stringify(config) })
    const args = ['--chain', 'c', ...(index === 0 ? ['--prompt-file', 'cli.md'] : [])]
    expect((await forkhestra(args, { cwd })).stdout).toContain(`said:<${want}>`)
  }
})

test('a blank text or file counts as absent', async () => {
  const config = {
    chains: {
      c: { promptFile: 'full.md', steps: [{ agent: 'say', prompt: '', promptFile: 'blank.md' }] },
    },
  }
  const cwd = makeProject({
    say,
    'blank.md': ' \n',
    'full.md': 'full',
    'forge/orch/chains.json': JSON.stringify(config),
  })
  expect((await forkhestra(['--chain', 'c'], { cwd })).stdout).toContain('said:<full>')
  expect((await forkhestra(['say', '-p', ''], { cwd })).stdout).toContain('said:<>')
})

test('a prompt file is passed on unchanged and read again in every iteration', async () => {
  const cwd = makeProject({
    agent: sh('printf "said:<%s>\\n" "$1"', 'printf "  second ${X} \\$HOME\\nü\\n\\n" > p.md'),
    'p.md': 'first',
  })
  const { stdout } = await forkhestra(['agent:2', '--prompt-file', 'p.md'], {
    cwd,
    env: { X: '${NAME}' },
  })
  expect(stdout).toContain('said:<first>')
  expect(stdout).toContain('said:<  second ${NAME} $HOME\nü\n\n>')
})

test('a missing prompt file of any step is refused before anything runs', async () => {
  const config = {
    chains: {
      c: { steps: [{ agent: 'say' }, { agent: 'say', promptFile: 'prompts/missing.md' }] },
    },
  }
  const cwd = makeProject({
    say: sh('touch ran'),
    'forge/orch/chains.json': JSON.stringify(config),
  })
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toBe(`[forkhestra] Error: Prompt file not found: prompts/missing.md
  forkhestra looked in ${cwd}. If an earlier step writes it, create it empty first.
`)
  expect(await Bun.file(`${cwd}/ran`).exists()).toBe(false)
})

test('a file that a higher level overrides may be missing', async () => {
  const config = {
    chains: { c: { promptFile: 'gone.md', steps: [{ agent: 'say', promptFile: 'p.md' }] } },
  }
  const cwd = makeProject({ say, 'p.md': 'here', 'forge/orch/chains.json': JSON.stringify(config) })
  expect((await forkhestra(['--chain', 'c'], { cwd })).stdout).toContain('said:<here>')
})

test('a byte order mark is kept in a prompt and ignored in the configuration', async () => {
  const config = JSON.stringify({
    chains: { c: { steps: [{ agent: 'say', promptFile: 'p.md' }] } },
  })
  const cwd = makeProject({ say, 'p.md': '\uFEFFhi', 'forge/orch/chains.json': `\uFEFF${config}` })
  expect((await forkhestra(['--chain', 'c'], { cwd })).stdout).toContain('said:<\uFEFFhi>')
})

test('a prompt file that vanishes fails its step', async () => {
  const cwd = makeProject({ agent: sh('rm p.md'), 'p.md': 'hello' })
  const { code, stdout, stderr } = await forkhestra(['agent:3', '--prompt-file', 'p.md'], { cwd })
  expect(code).toBe(1)
  expect(stderr).toContain('[forkhestra] Error: agent: Prompt file not found: p.md\n')
  expect(stdout).toEndWith(
    '[forkhestra] Failed at step 1: agent (error: Prompt file not found: p.md)\n',
  )
})

test('a file that an earlier step fills can be created empty first', async () => {
  const config = {
    chains: { c: { steps: [{ agent: 'fill' }, { agent: 'say', promptFile: 'p.md' }] } },
  }
  const cwd = makeProject({
    fill: sh('echo filled > p.md'),
    say,
    'p.md': '',
    'forge/orch/chains.json': JSON.stringify(config),
  })
  expect((await forkhestra(['--chain', 'c'], { cwd })).stdout).toContain('said:<filled\n>')
})

test('a prompt of more than 100 KiB is refused with its size', async () => {
  const cwd = makeProject({ say, 'p.md': 'x'.repeat(102_401) })
  const { code, stderr } = await forkhestra(['say', '--prompt-file', 'p.md'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain(
    "The prompt for 'say' has 102401 bytes; the limit for a program is 102400 (100 KiB).",
  )
  expect((await forkhestra(['say', '-p', 'x'.repeat(102_400)], { cwd })).code).toBe(0)
})

test('--prompt and --prompt-file exclude each other', async () => {
  const cwd = makeProject({ say, 'p.md': 'x' })
  const { code, stderr } = await forkhestra(['say', '-p', 'x', '--prompt-file', 'p.md'], { cwd })
  expect([code, stderr]).toEqual([
    2,
    '[forkhestra] Error: --prompt and --prompt-file cannot be combined.\n  Use one or the other.\n',
  ])
})

test('nothing is substituted in --prompt', async () => {
  const cwd = makeProject({ say })
  expect((await forkhestra(['say', '-p', '${X} ${STEP}'], { cwd })).stdout).toContain(
    'said:<${X} ${STEP}>',
  )
})
