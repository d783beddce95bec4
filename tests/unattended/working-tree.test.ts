import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, FORKHESTRA, Running } from '../support/forkhestra.ts'
import { openNative } from '../support/native.ts'
import { makeProject, sh, type Files } from '../support/project.ts'

/** Works until there is a file `done`. */
const SLOW = sh('echo working', 'while [ -e slow ] && [ ! -e done ]; do sleep 0.02; done')
const FILES: Files = { slow: SLOW, quick: sh('echo quick'), 'forge/orch/x': '', 'src/x': '' }
const GIT: Files = { '.git/HEAD': 'ref: refs/heads/main\n' }

function inGit(cwd: string): void {
  const setUp = 'git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first'
  Bun.spawnSync(['sh', '-c', setUp], { cwd })
}

const finish = (cwd: string) => writeFileSync(join(cwd, 'done'), '')
const idIn = (cwd: string) =>
  readdirSync(join(cwd, 'forge/orch/runs')).find((name) => /^\d/.test(name))!

test.each([
  ['in a repository', {}, true],
  ['in a repository without commits', GIT, false],
  ['without a repository', {}, false],
])('%s a second run is refused, even from a subfolder', async (_, more, hasCommit) => {
  const cwd = makeProject({ ...FILES, ...more })
  if (hasCommit) inGit(cwd)
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  const id = idIn(cwd)
  const second = await forkhestra(['quick'], { cwd })
  expect(second.code).toBe(2)
  expect(second.stderr).toBe(
    [
      `[forkhestra] Error: Run ${id} is still active in this working tree.`,
      `  See its status: forkhestra show ${id}`,
      ...(hasCommit ? ['  Or use another tree: git worktree add ../second'] : []),
      '  Or start in the same tree anyway: add --anyway\n',
    ].join('\n'),
  )
  const env = { HOME: '/nonexistent', PATH: `${cwd}:${process.env['PATH']}` }
  const below = await forkhestra(['quick', '--json'], { cwd: join(cwd, 'src'), env })
  expect(below.code).toBe(2)
  expect(JSON.parse(below.stdout)).toMatchObject({ type: 'run_refused', exitCode: 2 })
  expect(readdirSync(join(cwd, 'forge/orch/runs')).filter((name) => /^\d/.test(name))).toEqual([id])
  const anyway = await forkhestra(['quick', '--anyway'], { cwd })
  expect([anyway.code, anyway.stdout]).toEqual([0, expect.stringContaining('quick\n')])
  finish(cwd)
  expect((await first.finished).code).toBe(0)
  expect((await forkhestra(['quick'], { cwd })).code).toBe(0)
})

test('a run with --anyway also blocks other runs', async () => {
  const cwd = makeProject({ ...FILES, ...GIT, second: SLOW.replace('done', 'over') })
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  const second = new Running(['second', '--anyway'], { cwd })
  await second.printed('working')
  finish(cwd)
  await first.finished
  expect((await forkhestra(['quick'], { cwd })).code).toBe(2)
  writeFileSync(join(cwd, 'over'), '')
  expect((await second.finished).code).toBe(0)
})

test('two projects of a repository share a working tree, a git worktree is separate', async () => {
  const cwd = makeProject({
    ...FILES,
    ...GIT,
    '.git/worktrees/other/HEAD': '',
    'part/forge/orch/x': '',
    'other/.git': 'gitdir: ../.git/worktrees/other\n',
    'other/forge/orch/x': '',
  })
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  const env = { HOME: cwd, PATH: `${cwd}:${process.env['PATH']}` }
  const part = await forkhestra(['quick'], { cwd: join(cwd, 'part'), env })
  expect(part.code).toBe(2)
  expect(part.stderr).toContain(`forkhestra show ${idIn(cwd)} --cwd ${cwd}\n`)
  expect((await forkhestra(['quick'], { cwd: join(cwd, 'other'), env })).code).toBe(0)
  finish(cwd)
  await first.finished
})

test('a path through a symbolic link is the same working tree', async () => {
  const cwd = makeProject({ ...FILES, ...GIT })
  const link = join(makeProject(), 'link')
  symlinkSync(cwd, link)
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  for (const more of [[], ['--cwd', link]]) {
    const { code, stderr } = await forkhestra(['quick', ...more], { cwd: link })
    expect([code, stderr]).toEqual([2, expect.stringContaining(`Run ${idIn(cwd)} is still active`)])
  }
  finish(cwd)
  await first.finished
})

test('a killed run blocks no other run, even if it left processes', async () => {
  const cwd = makeProject({ ...FILES, ...GIT })
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  first.signal('SIGKILL')
  await first.finished
  const { code } = await forkhestra(['quick', '--kill-orphans'], { cwd })
  expect(code).toBe(0)
})

test('only one of several simultaneous runs starts', async () => {
  const cwd = makeProject({ ...FILES, ...GIT })
  const runs = Array.from({ length: 4 }, () => new Running(['slow'], { cwd }))
  const codes: number[] = []
  await Promise.all(
    runs.map(async ({ finished }) => {
      codes.push((await finished).code)
      if (codes.length === 3) finish(cwd)
    }),
  )
  expect(codes).toEqual([2, 2, 2, 0])
})

test('resume is refused as well and changes nothing', async () => {
  const cwd = makeProject({ ...FILES, ...GIT, fails: sh('test -e done') })
  expect((await forkhestra(['fails'], { cwd })).code).toBe(1)
  const failed = idIn(cwd)
  const first = new Running(['slow'], { cwd })
  await first.printed('working')
  const resumed = await forkhestra(['resume', failed], { cwd })
  expect([resumed.code, resumed.stderr]).toEqual([2, expect.stringContaining('--anyway')])
  finish(cwd)
  await first.finished
  expect((await forkhestra(['resume', failed], { cwd })).code).toBe(0)
})

test('nested runs, dry runs and queues are allowed', async () => {
  const cwd = makeProject({
    ...FILES,
    ...GIT,
    outer: sh(`"${FORKHESTRA}" ./quick && echo inner ended`, ...SLOW.split('\n').slice(1)),
  })
  const first = new Running(['outer'], { cwd })
  await first.printed('working')
  expect(first.stdout).toContain('inner ended')
  expect((await forkhestra(['quick', '--dry-run'], { cwd })).code).toBe(0)
  await forkhestra(['push', '--agent', './quick', 'Do it'], { cwd })
  expect((await forkhestra(['run-queue'], { cwd })).code).toBe(0)
  finish(cwd)
  expect((await first.finished).code).toBe(0)
})

test('a chat is allowed and blocks no run', async () => {
  await using stage = await openNative([{ text: 'Hello.' }])
  const { cwd } = stage
  writeFileSync(join(cwd, 'slow'), SLOW, { mode: 0o755 })
  mkdirSync(join(cwd, '.git'), { recursive: true })
  const first = new Running(['./slow'], { cwd })
  await first.printed('working')
  expect((await stage.run('chat', '-p', 'Hi')).stdout).toBe('Hello.\n')
  finish(cwd)
  await first.finished
})

test('a run works without a lock if none can be written', async () => {
  const cwd = makeProject({ ...FILES, ...GIT, '.git/forkhestra': 'a file' })
  rmSync(join(cwd, 'forge'), { recursive: true })
  const { code, stderr } = await forkhestra(['quick'], {
    cwd,
    env: { HOME: '', XDG_STATE_HOME: '' },
  })
  expect(code).toBe(0)
  expect(stderr).not.toContain('Error')
})
