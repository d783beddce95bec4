import { expect } from 'bun:test'
import { delimiter, dirname } from 'node:path'
import { environment, FORKHESTRA, type Finished } from './forkhestra.ts'
import { makeProject, sh, type Files } from './project.ts'

export const GIT = Bun.which('git')!
export const CLAUDE = { claude: sh('echo "2.1.325 (Claude Code)"') }

interface Check {
  readonly name: string
  readonly state: string
  readonly text: string
  readonly next?: string
}

export interface Machine {
  readonly cwd: string
  readonly env: Record<string, string>
}

/** A healthy repository, on a machine that has git and these programs. */
export function makeMachine(programs: Files = CLAUDE, files: Files = {}): Machine {
  const bin = makeProject(programs)
  const cwd = makeProject({ 'forge/orch/specs/PLAN.md': 'All of it\n', ...files })
  const who = { GIT_AUTHOR_NAME: 'A', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'A' }
  const env = {
    ...who,
    GIT_COMMITTER_EMAIL: 'a@b',
    PATH: [bin, dirname(GIT), '/usr/bin', '/bin'].join(delimiter),
    HOME: bin,
    IS_SANDBOX: '1',
    ANTHROPIC_API_KEY: 'sk-ant-secret',
  }
  const machine = { cwd, env }
  git(machine, 'init', '--quiet', '--initial-branch=work')
  git(machine, 'add', '--all')
  git(machine, 'commit', '--quiet', '-m', 'Begin')
  return machine
}

/** Runs git on that machine and returns its output. */
export function git({ cwd, env }: Machine, ...args: string[]): string {
  return Bun.spawnSync([GIT, ...args], { cwd, env: environment({ cwd, env }) }).stdout.toString()
}

/** The findings of doctor, by name. `wrapper` is a command that runs the program. */
export async function doctor(
  machine: Machine,
  wrapper: readonly string[] = [],
): Promise<Map<string, Check>> {
  const { code, stdout } = await runUnder([...wrapper, FORKHESTRA, 'doctor', '--json'], machine)
  const { ok, checks } = JSON.parse(stdout) as { ok: boolean; checks: Check[] }
  expect(ok).toBe(checks.every(({ state }) => state !== 'problem'))
  expect(code).toBe(ok ? 0 : 1)
  for (const { state, next } of checks) expect(next !== undefined).toBe(state !== 'ok')
  const names = checks.map(({ name }) => name)
  expect(names).toEqual([...new Set(names)])
  return new Map(checks.map((check) => [check.name, check]))
}

/** One finding. */
export async function found(
  name: string,
  machine: Machine,
  wrapper?: readonly string[],
): Promise<Check | undefined> {
  return (await doctor(machine, wrapper)).get(name)
}

export function withVariables({ cwd, env }: Machine, more: Record<string, string>): Machine {
  return { cwd, env: { ...env, ...more } }
}

async function runUnder(argv: readonly string[], machine: Machine): Promise<Finished> {
  const child = Bun.spawn([...argv], {
    cwd: machine.cwd,
    env: environment(machine),
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}
