import { beforeEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from './support/forkhestra.ts'
import { makeProject, sh, type Files } from './support/project.ts'

const ROOT = join(import.meta.dir, '..')

let home: string
beforeEach(() => {
  home = makeProject()
})

/** Runs the demo without a terminal and without any setting of git, in a temp folder of its own. */
async function runDemo(programs: Files = {}) {
  const tools = makeProject(programs)
  const child = Bun.spawn([process.execPath, join(ROOT, 'demo/demo.ts')], {
    cwd: ROOT,
    env: environment({
      cwd: home,
      env: {
        TMPDIR: home,
        BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
        PATH: `${tools}:${process.env['PATH']}`,
      },
    }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [code, stdout] = await Promise.all([child.exited, new Response(child.stdout).text()])
  return { code, stdout }
}

test('the demo plans, builds, refuses two markers, shows the commits and cleans up', async () => {
  const { code, stdout } = await runDemo()
  expect(stdout).toContain('[forkhestra] Marker ignored: inside a longer line\n')
  expect(stdout).toContain('[forkhestra] Marker ignored: inside a code fence\n')
  expect(stdout).toContain('[forkhestra] Chain complete (2/2 steps)\n\n$ echo $?\n0\n')
  const log = stdout.slice(stdout.indexOf('$ git log')).trim().split('\n').slice(1)
  expect(log.map((line) => line.replace(/^[0-9a-f]+ /, ''))).toEqual([
    'Plan three tasks',
    'Add page.txt',
    'Add style.txt',
    'Add legal.txt',
  ])
  expect(code).toBe(0)
  expect(readdirSync(home)).toEqual([])
})

test('the demo says so with its exit code when the chain fails', async () => {
  const git = Bun.which('git')
  const deaf = sh(`[ "$1" = commit ] && exit 1`, `exec ${git} "$@"`)
  const { code, stdout } = await runDemo({ git: deaf })
  expect(stdout).toContain('[forkhestra] Failed at step 2: build')
  expect(code).toBe(1)
  expect(readdirSync(home)).toEqual([])
})

test('the README shows what the demo prints', async () => {
  const { stdout } = await runDemo()
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const shown = /^```text demo\n([^]*?)^```$/m.exec(readme)?.[1]?.trim().split('\n') ?? []
  expect(shown.length).toBeGreaterThan(10)
  const printed = stdout.split('\n')
  for (const line of shown.filter((text) => text !== '…')) {
    const at = printed.indexOf(line)
    expect([line, at !== -1]).toEqual([line, true])
    printed.splice(0, at + 1)
  }
})
