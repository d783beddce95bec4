import { describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { LeftWork } from '../../src/views/worktrees.ts'
import {
  branchesOf,
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
  startBranches,
} from '../support/branches.ts'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { ofType, runsOf } from '../support/record.ts'
import { git, makeCommitted, makeRepository, worktreesOf } from '../support/repository.ts'

const NOTHING = 'No worktrees or branches of runs are left.\n'

const AGENTS = {
  /** All copies change the same line. */
  same: sh(
    'echo "$FORKHESTRA_SCOPE" >> shared',
    'git add -A && git commit -qm "work $FORKHESTRA_SCOPE"',
    'echo ORCHESTRA_COMPLETE',
  ),
  /** Commits, and then waits. */
  slow: sh(
    'name=$(echo "$FORKHESTRA_SCOPE" | tr / -)',
    'echo x > "$name"; git add -A; git commit -qm "$name"; echo y >> "$name"',
    'echo working; exec sleep 60',
  ),
  shared: 'begin\n',
}

const copies = (agent: string, count: number, iterations = 1) => ({
  agent: `./${agent}`,
  name: agent,
  iterations,
  copies: count,
  prompt: 'Work.',
})

async function listed(cwd: string): Promise<LeftWork[]> {
  const { stdout, code, stderr } = await inProject(cwd, 'worktrees', '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return (JSON.parse(stdout) as { worktrees: LeftWork[] }).worktrees
}

/** A run whose second copy conflicts with the first. */
async function conflicting(): Promise<{ cwd: string; run: string; lost: LeftWork }> {
  const cwd = makeBranchProject([copies('same', 2)], AGENTS)
  expect((await runBranches(cwd)).code).toBe(1)
  const [run = ''] = runsOf(cwd)
  const [lost] = await listed(cwd)
  return { cwd, run, lost: lost! }
}

/** A run that was killed while two agents were at work. */
async function killed(): Promise<{ cwd: string; run: string }> {
  const cwd = makeBranchProject([copies('slow', 2)], AGENTS)
  const running = startBranches(cwd)
  await running.printed('slow#1 │ working')
  await running.printed('slow#2 │ working')
  running.signal('SIGKILL')
  await running.finished
  return { cwd, run: runsOf(cwd)[0]! }
}

/** Kills what a killed run has left running. */
function killAgents(run: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const environ = Bun.spawnSync(['cat', `/proc/${pid}/environ`], { stderr: 'ignore' }).stdout
    if (environ.toString().includes(`FORKHESTRA_RUN_ID=${run}\0`)) process.kill(Number(pid), 9)
  }
}

describe('forkhestra worktrees', () => {
  test('says in one line that nothing is left', async () => {
    const cwd = makeCommitted({ file: '' })
    for (const args of [['worktrees'], ['worktrees', '--clean']])
      expect(await forkhestra(args, { cwd })).toEqual({ code: 0, stdout: NOTHING, stderr: '' })
    expect(await listed(cwd)).toEqual([])
    const outside = await forkhestra(['worktrees'], { cwd: makeProject() })
    expect(outside.code).toBe(1)
    expect(outside.stderr).toContain('not a git repository')
  })

  test('lists what could not be merged, why, and what to type', async () => {
    const { cwd, run, lost } = await conflicting()
    const { name } = lost
    const copy = name.at(-1)
    const path = `${cwd}.worktrees/${run}-s1.c${copy}`
    const branch = `forkhestra/${run}/s1.c${copy}`
    expect(lost).toMatchObject({
      kind: 'branch',
      name: `same#${copy}`,
      run,
      runStatus: 'failed',
      isAlive: false,
      path,
      branch,
      into: 'main',
      unmerged: 1,
      hasUncommitted: false,
      why: 'conflict in shared',
      blocker: '1 commit not merged',
      next: [`forkhestra resume ${run}`, `git merge ${branch}`],
    })
    const { stdout } = await inProject(cwd, 'worktrees')
    expect(stdout).toBe(
      [
        `Run ${run}: failed`,
        `  same#${copy}  1 commit  conflict in shared`,
        `  ../${path.slice(dirname(cwd).length + 1)}`,
        `Next: forkhestra resume ${run}`,
        `      git merge ${branch}`,
        '',
      ].join('\n'),
    )
  })

  test('--clean keeps what is not merged, and removes it once it is', async () => {
    const { cwd, run, lost } = await conflicting()
    const refused = await inProject(cwd, 'worktrees', '--clean')
    expect(refused).toEqual({
      code: 1,
      stdout: `kept: ${lost.branch}: 1 commit not merged\nFor the next steps: forkhestra worktrees\n`,
      stderr: '',
    })
    expect(existsSync(lost.path!)).toBe(true)
    expect(() => git(cwd, 'merge', '-q', lost.branch!)).toThrow()
    writeFileSync(join(cwd, 'shared'), 'both\n')
    git(cwd, 'commit', '-qam', 'Merge by hand')
    expect((await listed(cwd))[0]).toMatchObject({
      unmerged: 0,
      next: [`forkhestra resume ${run}`, 'forkhestra worktrees --clean'],
    })
    writeFileSync(join(lost.path!, 'notes'), 'x')
    expect((await listed(cwd))[0]).toMatchObject({ blocker: 'uncommitted changes' })
    expect((await inProject(cwd, 'worktrees', '--clean')).code).toBe(1)
    rmSync(join(lost.path!, 'notes'))
    const cleaned = await inProject(cwd, 'worktrees', '--clean')
    expect(cleaned).toEqual({ code: 0, stdout: `removed: ${lost.branch}\n`, stderr: '' })
    expect(leftovers(cwd)).toEqual([])
    expect(existsSync(`${cwd}.worktrees`)).toBe(false)
  })

  test('knows from the record which commits were merged as copies', async () => {
    const build = sh(
      'echo "$FORKHESTRA_SCOPE" > "$(echo $FORKHESTRA_SCOPE | tr / -)"',
      'git add -A && git commit -qm "$FORKHESTRA_SCOPE"',
      'echo ORCHESTRA_COMPLETE',
    )
    const cwd = makeBranchProject([copies('build', 3)], { build })
    const { events } = await runBranches(cwd)
    // As if removing them had failed.
    for (const { branch, tip } of ofType(events, 'merge_ended')) git(cwd, 'branch', branch, tip)
    expect((await listed(cwd)).map(({ name, unmerged }) => [name, unmerged])).toEqual([
      ['build#1', 0],
      ['build#2', 0],
      ['build#3', 0],
    ])
    expect((await inProject(cwd, 'worktrees', '--clean')).code).toBe(0)
    expect(leftovers(cwd)).toEqual([])
  })

  test('never touches a run that is active', async () => {
    const cwd = makeBranchProject([copies('slow', 2)], AGENTS)
    const running = startBranches(cwd)
    await running.printed('slow#1 │ working')
    await running.printed('slow#2 │ working')
    const [run] = runsOf(cwd)
    const before = branchesOf(cwd)
    for (const { isAlive, blocker, next } of await listed(cwd))
      expect([isAlive, blocker, next]).toEqual([
        true,
        'its run is active',
        [`forkhestra show ${run}`],
      ])
    // From another folder of the repository, where there is no record.
    mkdirSync(join(cwd, 'sub/forge/orch'), { recursive: true })
    for (const folder of [cwd, join(cwd, 'sub')])
      expect((await inProject(folder, 'worktrees', '--clean')).code).toBe(1)
    expect(branchesOf(cwd)).toEqual(before)
    running.signal('SIGKILL')
    await running.finished
    const dead = await listed(cwd)
    expect(dead.map(({ next }) => next[0])).toEqual(
      dead.map(() => `forkhestra resume ${run} --kill-orphans`),
    )
    expect((await inProject(cwd, 'worktrees', '--clean')).stdout).toContain(
      'processes of its run are still running',
    )
    killAgents(run!)
  })

  test('sees folders that were deleted, moved, switched or that git does not know', async () => {
    const { cwd, run } = await killed()
    killAgents(run)
    const [one = '', two = ''] = worktreesOf(cwd).map((name) => join(`${cwd}.worktrees`, name))
    rmSync(one, { recursive: true })
    git(two, 'checkout', '-q', '--detach')
    git(two, 'commit', '-qam', 'detached')
    mkdirSync(join(`${cwd}.worktrees`, `${run}-s9`))
    mkdirSync(join(`${cwd}.worktrees`, 'of-a-person'))
    git(cwd, 'worktree', 'add', '-q', join(`${cwd}.worktrees`, 'theirs'), '-b', 'theirs')
    git(cwd, 'branch', 'forkhestra/my-own')
    const left = await listed(cwd)
    expect(
      left.map(({ why, unmerged, hasUncommitted }) => [why, unmerged, hasUncommitted]),
    ).toEqual<unknown>([
      ['git does not know this folder', undefined, undefined],
      ['its folder was deleted', 1, false],
      ['its step is not complete', 2, false],
    ])
    expect((await inProject(cwd, 'worktrees', '--clean')).code).toBe(1)
    // Once merged, what is left of both can go; the unknown folder stays.
    git(cwd, 'merge', '-q', '-m', 'm', git(two, 'rev-parse', 'HEAD'))
    git(cwd, 'merge', '-q', '-m', 'm', left[1]!.branch!)
    const { code, stdout } = await inProject(cwd, 'worktrees', '--clean')
    expect([code, stdout.match(/^removed/gm)?.length]).toEqual([1, 2])
    expect(worktreesOf(cwd)).toEqual([`${run}-s9`, 'of-a-person', 'theirs'])
    expect(branchesOf(cwd)).toEqual(['forkhestra/my-own', 'main', 'theirs'])
  })

  test('keeps a branch that is checked out in the project', async () => {
    const { cwd, lost } = await conflicting()
    git(cwd, 'worktree', 'remove', '--force', lost.path!)
    git(cwd, 'checkout', '-q', lost.branch!)
    git(cwd, 'branch', '-f', 'main', lost.branch!)
    const { code, stdout } = await inProject(cwd, 'worktrees', '--clean')
    expect([code, stdout.split('\n')[0]]).toEqual([
      1,
      `kept: ${lost.branch}: it is checked out in ${cwd}`,
    ])
  })

  test('lists worktrees of sub-agents', async () => {
    const cwd = makeRepository()
    const work = 'echo x > new.txt; git add -A; git commit -qm x; echo y > left'
    const push = ['push', '--agent', './agent', '--isolation', 'worktree', '--name', 'try', work]
    await forkhestra(push, { cwd })
    await forkhestra(['run-queue'], { cwd })
    const { stdout } = await forkhestra(['worktrees', '--json'], { cwd })
    const [left, ...others] = (JSON.parse(stdout) as { worktrees: LeftWork[] }).worktrees
    expect(others).toEqual([])
    expect(left).toMatchObject({
      kind: 'task',
      name: 'try',
      unmerged: 1,
      hasUncommitted: true,
      blocker: '1 commit not merged and uncommitted changes',
    })
    expect(left!.next).toEqual([`git merge ${left!.branch}`, `git -C ${left!.path} status`])
  })

  test.each([
    [
      'an abandoned commit',
      'date > new.txt; git add -A; git commit -qm x; git reset -q --hard HEAD~1',
    ],
    ['a stash', 'date > file.txt; git stash -q'],
    ['an ignored file', 'mkdir notes; date > notes/result.md'],
  ])('%s of a sub-agent is not removed', async (_, work) => {
    const cwd = makeRepository()
    const push = ['push', '--agent', './agent', '--isolation', 'worktree', '--name', 'try', work]
    await forkhestra(push, { cwd })
    await forkhestra(['run-queue'], { cwd })
    const before = worktreesOf(cwd)
    expect(before).toHaveLength(1)
    expect((await forkhestra(['worktrees', '--clean'], { cwd })).code).toBe(1)
    expect(worktreesOf(cwd)).toEqual(before)
  })

  test('prints hostile names without control characters, on at most 80 columns', async () => {
    const { cwd, run } = await conflicting()
    git(cwd, 'branch', `forkhestra/${run}/x\u202egnp.exe\u009b31m`)
    git(cwd, 'branch', `forkhestra/${run}/${'long'.repeat(40)}`)
    mkdirSync(join(`${cwd}.worktrees`, `${run}-\nNext: rm -rf\u001b[2J`))
    const { stdout } = await inProject(cwd, 'worktrees')
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
    expect(stdout.match(/^Next: /gm)).toHaveLength(1)
    const table = stdout.split('\n').filter((line) => !/^(?:Next:| {5} )/.test(line))
    for (const line of table) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
  })

  test('finds the record in another working tree of the repository', async () => {
    const { cwd, lost } = await conflicting()
    const second = `${cwd}.second`
    git(cwd, 'worktree', 'add', '-q', second, '-b', 'second')
    try {
      const { stdout } = await forkhestra(['worktrees', '--json'], {
        cwd: second,
        env: { HOME: cwd, XDG_STATE_HOME: join(cwd, '.state') },
      })
      const [left] = (JSON.parse(stdout) as { worktrees: LeftWork[] }).worktrees
      expect(left).toMatchObject({ name: lost.name, why: lost.why })
      expect(left!.next).toEqual([
        `forkhestra resume ${lost.run} --cwd ${cwd}`,
        `git -C ${cwd} merge ${lost.branch}`,
      ])
    } finally {
      git(cwd, 'worktree', 'remove', '--force', second)
    }
  })

  test('without a record counts the commits that no other branch has', async () => {
    const { cwd, lost } = await conflicting()
    renameSync(join(cwd, 'forge/orch/runs'), join(cwd, 'forge/orch/before'))
    expect((await listed(cwd))[0]).toMatchObject({
      name: lost.branch!.split('/').at(-1),
      unmerged: 1,
      next: [`git merge ${lost.branch}`],
    })
  })
})
