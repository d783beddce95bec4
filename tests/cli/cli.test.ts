import { expect, test } from 'bun:test'
import { version } from '../../package.json'
import { environment, FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const project = () =>
  makeProject({
    list: sh('echo agent list'),
    validate: sh('echo agent validate'),
    'forge/orch/chains.json':
      '{"chains":{"build":{"steps":[{"agent":"x"}]},"brew":{"steps":[{"agent":"x"}]}}}',
  })

test('--version and --help print to stdout', async () => {
  const cwd = project()
  expect(await forkhestra(['--version'], { cwd })).toEqual({
    code: 0,
    stdout: `${version}\n`,
    stderr: '',
  })
  const help = await forkhestra(['--help'], { cwd })
  expect(help.code).toBe(0)
  expect(help.stdout).toStartWith('Run coding agents unattended')
  expect(help.stdout.indexOf('Examples:')).toBeLessThan(help.stdout.indexOf('Usage:'))
  expect((await forkhestra(['list', '-h'], { cwd })).stdout).toContain(
    'forkhestra list [--json | --plain]',
  )
})

test('a first word is a command only if it matches exactly', async () => {
  const cwd = project()
  expect((await forkhestra(['list'], { cwd })).stdout).toContain('Chains in')
  expect((await forkhestra(['list:1'], { cwd })).stdout).toContain('agent list')
  expect((await forkhestra(['list -> validate'], { cwd })).stdout).toContain('agent validate')
  expect((await forkhestra(['run', 'list'], { cwd })).stdout).toContain('agent list')
})

test('.env and bunfig.toml of the working directory are not loaded', async () => {
  const cwd = makeProject({
    '.env': 'LEAKED=from-dotenv\n',
    'bunfig.toml': 'preload = ["./evil.ts"]\n',
    'evil.ts': 'console.log("EXECUTED")\n',
    agent: sh('echo "leaked: $LEAKED"'),
  })
  const { stdout } = await forkhestra(['agent'], { cwd })
  expect(stdout).toContain('leaked: \n')
  expect(stdout).not.toContain('EXECUTED')
})

async function complete(cwd: string, words: string[]): Promise<string[]> {
  const script = `source <(forkhestra completions bash)
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}
_forkhestra; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = {
    ...environment({ cwd }),
    PATH: `${FORKHESTRA.replace(/\/[^/]+$/, '')}:${process.env['PATH']}`,
  }
  const child = Bun.spawn(['/bin/bash', '-c', script], { cwd, env, stdout: 'pipe' })
  return (await child.stdout.text()).trim().split('\n')
}

test('completing a chain name does not execute it', async () => {
  const cwd = makeProject({
    'forge/orch/chains.json':
      '{"chains":{"$(touch pwned)":{"steps":[{"agent":"x"}]},"two words":{"steps":[{"agent":"x"}]}}}',
  })
  expect(await complete(cwd, ['forkhestra', '--chain', ''])).toEqual([
    '\\$\\(touch\\ pwned\\)',
    'two\\ words',
    'build-all',
    'build',
    'plan',
    'ralph',
  ])
  expect(await Bun.file(`${cwd}/pwned`).exists()).toBe(false)
})

test('completions offer commands, options and the chains of the project', async () => {
  const cwd = project()
  expect(await complete(cwd, ['forkhestra', 'val'])).toEqual(['validate'])
  expect(await complete(cwd, ['forkhestra', '--dr'])).toEqual(['--dry-run'])
  expect(await complete(cwd, ['forkhestra', '--chain', 'b'])).toEqual([
    'build',
    'brew',
    'build-all',
  ])
  expect(await complete(cwd, ['forkhestra', 'completions', 'z'])).toEqual(['zsh'])
  expect(await complete(cwd, ['forkhestra', 'tas'])).toEqual(['tasks'])
  expect(await complete(cwd, ['forkhestra', 'tasks', 'vi'])).toEqual(['view'])
  for (const shell of ['zsh', 'fish']) {
    const { stdout } = await forkhestra(['completions', shell, '--', ''], { cwd })
    expect(stdout).toContain('validate\tCheck ')
  }
})
