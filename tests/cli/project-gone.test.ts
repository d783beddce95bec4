import { describe, expect, test } from 'bun:test'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { environment, FORKHESTRA, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles } from '../support/project.ts'

// Repeated because the run may write to its record meanwhile.
const DELETE = 'while [ -e project ]; do rm -rf project; done'

/** A project in a subfolder, with an agent that does something to it. */
function projectWith(change: string, files: Readonly<Record<string, string>> = { 'forge/x': '' }) {
  const outer = makeProject()
  const cwd = join(outer, 'project')
  writeFiles(cwd, { agent: sh('cd ..', change, 'echo "agent was here"'), ...files })
  return { outer, cwd }
}

describe('a project folder that is missing at the end of a run', () => {
  test('after a rename, the message says where the record is', async () => {
    const { outer, cwd } = projectWith('mv project elsewhere')
    const { code, stdout, stderr } = await forkhestra(['./agent'], { cwd })
    expect(code).toBe(1)
    expect(stdout).toContain('agent was here')
    expect(stderr).toContain(`the project folder ${cwd} was deleted or renamed during the run`)
    expect(stderr).toContain(`the record of the run is in ${outer}/elsewhere/forge/orch/runs/`)
    expect(stderr).not.toContain('undefined')
    const shown = await forkhestra(['show'], { cwd: join(outer, 'elsewhere') })
    expect(shown.stdout).toContain('exit code 1')
  })

  test('is reported if it was deleted with its record', async () => {
    const { cwd } = projectWith(DELETE)
    const { code, stderr } = await forkhestra(['./agent'], { cwd })
    expect(code).toBe(1)
    expect(stderr).toContain(`the project folder ${cwd} was deleted or renamed during the run`)
    expect(stderr).toContain('there is no record of the run')
    expect(stderr).not.toContain('undefined')
  })

  test('is reported if it was deleted, and the record is elsewhere', async () => {
    const { outer, cwd } = projectWith(DELETE, {})
    const env = { XDG_STATE_HOME: join(outer, 'state') }
    const { code, stderr } = await forkhestra(['./agent'], { cwd, env })
    expect(code).toBe(1)
    expect(stderr).toContain(`the record of the run is in ${outer}/state/forkhestra/project-`)
  })

  test('is reported in JSON', async () => {
    const { cwd } = projectWith(DELETE)
    const { code, stdout } = await forkhestra(['./agent', '--json'], { cwd })
    expect(code).toBe(1)
    expect(stdout).toContain('was deleted or renamed during the run')
    expect(JSON.parse(stdout.trim().split('\n').at(-1)!)).toMatchObject({
      type: 'run_ended',
      ok: false,
      exitCode: 1,
    })
  })
})

const PLAIN_USER =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []

async function unprivileged(args: readonly string[], cwd: string) {
  const child = Bun.spawn([...PLAIN_USER, FORKHESTRA, ...args], {
    cwd,
    env: environment({ cwd }),
    stdin: 'ignore',
    stderr: 'pipe',
  })
  const [stderr, code] = await Promise.all([child.stderr.text(), child.exited])
  return { stderr, code }
}

describe('a project folder without permission is reported', () => {
  test('at the end of a run', async () => {
    const { outer, cwd } = projectWith('chmod 000 .')
    const { code, stderr } = await unprivileged(['./agent'], cwd)
    chmodSync(outer, 0o755)
    expect(code).toBe(1)
    expect(stderr).toContain(`the project folder ${cwd} can no longer be accessed (EACCES)`)
    expect(stderr).not.toContain('undefined')
  })

  test('at startup', async () => {
    const outer = makeProject()
    const cwd = join(outer, 'project')
    mkdirSync(cwd)
    const program = [...PLAIN_USER, 'sh', '-c', `chmod 000 ..; exec ${FORKHESTRA} list`]
    const child = Bun.spawn(program, { cwd, env: environment({ cwd }), stderr: 'pipe' })
    const [stderr, code] = await Promise.all([child.stderr.text(), child.exited])
    chmodSync(outer, 0o755)
    expect(code).toBe(1)
    expect(stderr).toContain(`The current folder cannot be read: ${cwd}`)
  })
})
