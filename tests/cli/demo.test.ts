import { beforeEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'

const ROOT = join(import.meta.dir, '../..')

let home: string
beforeEach(() => {
  home = makeProject()
})

/** Runs the demo without a terminal or git settings, in a separate temporary folder. */
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
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code, stdout, stderr }
}

test('the demo plans, builds, survives a bad night, shows the commits and cleans up', async () => {
  const { code, stdout, stderr } = await runDemo()
  expect(stderr).not.toContain('uncommitted')
  expect(stdout).toContain('[forkhestra] Marker ignored: inside a longer line\n')
  expect(stdout).toContain('[forkhestra] Marker ignored: inside a code fence\n')
  expect(stdout).toContain('[forkhestra] Chain complete (2/2 steps)\n\n$ echo $?\n0\n')
  const log = stdout.slice(stdout.indexOf('$ git log')).trim().split('\n').slice(1)
  expect(log.map((line) => line.replace(/^[0-9a-f]+ /, ''))).toEqual([
    'Plan three tasks',
    'Add page.txt',
    'Add style.txt',
    'Add legal.txt',
    'Add the chain night',
    'Add about.txt',
    'Add tests.txt',
  ])
  expect(code).toBe(0)
  expect(readdirSync(home)).toEqual([])
})

test('the bad night waits for a limit, is refused by a check, killed, and resumed', async () => {
  const { code, stdout, stderr } = await runDemo()
  const night = stdout.slice(stdout.indexOf('$ forkhestra --chain night\n'))
  const seen = [
    /^\[forkhestra\] Waiting for the limit to reset, \d.* left/m,
    /^\[forkhestra\] The wait is over\n\[forkhestra\] Iteration 1\/5\n/m,
    /^\[forkhestra\] Check failed: ls tests.txt \(exit \d\)\n {2}\| ls: /m,
    /^\[forkhestra\] Marker ignored: a check failed\n\[forkhestra\] Iteration 2\/5\n/m,
    /^\$ kill -9 \d+\n/m,
    /^\[forkhestra\] Resuming run \S+ at step 1, iteration 2\n/m,
    /^\[forkhestra\] Chain complete \(1\/1 steps\)\n\[forkhestra\] Spent: .* \$0\.55 /m,
  ].map((pattern) => night.search(pattern))
  expect(seen).not.toContain(-1)
  expect(seen).toEqual(seen.toSorted((a, b) => a - b))
  expect(stderr).toMatch(
    /^\[forkhestra\] Warning: killed the processes that run \S+ left running: .*sleep 60/,
  )
  expect(code).toBe(0)
})

test('if the chain fails, the demo exits with 1', async () => {
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
