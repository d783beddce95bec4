import { describe, expect, test } from 'bun:test'
import { chmodSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FORGE_TASKS } from '../support/forge-tasks.ts'
import { environment, FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'

// A project as the version before left it: configuration, tasks, a run with a queue, and a chat.

const RUN = '20261118-115943-jt8fz2'
const CHAT = '20261118-115944-cdav9s'

function install(): string {
  const cwd = makeProject()
  cpSync(join(import.meta.dir, '../fixtures/project-before'), cwd, { recursive: true })
  for (const name of readdirSync(cwd, { recursive: true, encoding: 'utf8' })) {
    const path = join(cwd, name)
    if (/\.(?:nd)?json$/.test(name))
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll('@PROJECT@', cwd))
  }
  for (const name of ['lead', 'worker']) chmodSync(join(cwd, name), 0o755)
  for (const id of [RUN, CHAT]) chmodSync(join(cwd, 'forge/orch/runs', id), 0o700)
  return cwd
}

test('its configuration is valid and plans the same chain', async () => {
  const cwd = install()
  const { stdout } = await forkhestra(['validate'], { cwd })
  expect(stdout).toBe('forge/orch/chains.json is valid: 1 chain, 1 agent.\n')
  const plan = await forkhestra(['--chain', 'work', 'FEATURE=x', '--dry-run', '-v'], { cwd })
  expect(plan.stdout).toContain(`["${cwd}/lead","Lead x"]`)
})

test('its tasks are listed with their claims', async () => {
  const cwd = install()
  const { stdout } = Bun.spawnSync([FORGE_TASKS, 'list', '--json'], {
    cwd,
    env: environment({ cwd }),
  })
  expect(JSON.parse(stdout.toString()).tasks).toMatchObject([
    { id: 'TASK-001', title: 'Old task', status: 'In Progress', assignee: 'ann' },
    { id: 'TASK-002', title: 'Next task', status: 'To Do', dependencies: ['TASK-001'] },
  ])
})

describe('its run', () => {
  test('is shown with its steps, output and cost', async () => {
    const cwd = install()
    expect((await forkhestra(['runs'], { cwd })).stdout).toMatch(/-jt8fz2 +failed +work /)
    const shown = await forkhestra(['show', RUN], { cwd })
    expect(shown.stdout).toContain('Step 1: ./lead: not complete (2/2 iterations')
    expect((await forkhestra(['logs', RUN, '--raw'], { cwd })).stdout).toContain('worked on first')
    expect((await forkhestra(['cost'], { cwd })).stdout).toContain(RUN)
  })

  test('continues with its queue once the user trusts it', async () => {
    const cwd = install()
    writeFileSync(join(cwd, 'finish'), '')
    const refused = await forkhestra(['resume', RUN], { cwd })
    expect(refused.stderr).toContain(`If you trust it: forkhestra resume ${RUN} --trust-record`)
    const resumed = await forkhestra(['resume', RUN, '--trust-record'], { cwd })
    expect(resumed.stdout).toContain('Chain complete (1/1 steps)')
    expect(resumed.code).toBe(0)
    const queue = await forkhestra(['queue', '--run', RUN, '--json'], { cwd })
    expect(JSON.parse(queue.stdout).tasks.length).toBeGreaterThan(3)
    expect((await forkhestra(['queue', 'verify', '--run', RUN], { cwd })).code).toBe(0)
    const inbox = await forkhestra(['check', '--run', RUN], { cwd })
    expect(inbox.stdout).toContain('a note')
  })
})

test('its chat continues with the same conversation', async () => {
  const cwd = install()
  expect((await forkhestra(['resume', CHAT, '--trust-record'], { cwd })).code).toBe(0)
  const env = { ANTHROPIC_API_KEY: 'fake-key' }
  const chat = [FORKHESTRA, 'chat', '--resume', CHAT, '-p', 'Go on']
  const args = ['fake-model', 's.json', '--log', 'asked', '--', ...chat]
  const { stdout, stderr, code } = await forkhestra(args, { cwd, env })
  expect([code, stdout, stderr]).toEqual([0, 'Hello from before.\n', expect.any(String)])
  expect(readFileSync(join(cwd, 'asked'), 'utf8')).toContain('Hi there')
})
