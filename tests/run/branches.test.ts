import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  branchesOf,
  inProject,
  leftovers,
  makeBranchProject,
  runBranches,
  startBranches,
  subjectsOf,
} from '../support/branches.ts'
import { reasonsIn } from '../support/chains.ts'
import type { Running } from '../support/forkhestra.ts'
import { sh } from '../support/project.ts'
import { journalOf, ofType, runsOf } from '../support/record.ts'
import { git, worktreesOf } from '../support/repository.ts'
import { until } from '../support/until.ts'

const AGENTS = {
  /** Commits a file of its own in each of two iterations. */
  build: sh(
    'name=$(echo "$FORKHESTRA_STEP-$FORKHESTRA_SCOPE-$FORKHESTRA_ITERATION" | tr / -)',
    'echo "$name" > "file-$name"',
    'git add -A && git commit -qm "work $FORKHESTRA_SCOPE"',
    '[ "$FORKHESTRA_ITERATION" -ge 2 ] && echo ORCHESTRA_COMPLETE',
    'exit 0',
  ),
  /** All copies change the same line; told about a conflict, it keeps both. */
  same: sh(
    'case "$*" in *"cannot be merged"*)',
    '  git merge -q main > /dev/null 2>&1',
    '  grep -v "^[<=>]" shared > both; mv both shared',
    '  git add -A; git commit -qm "resolve $FORKHESTRA_SCOPE"; echo ORCHESTRA_COMPLETE; exit 0;;',
    'esac',
    'echo "$FORKHESTRA_SCOPE" >> shared',
    'git add -A && git commit -qm "work $FORKHESTRA_SCOPE"',
    'echo ORCHESTRA_COMPLETE',
  ),
  ok: sh('echo ok'),
}

const copies = (agent: string, count: number, iterations: number, more: object = {}) => ({
  agent: `./${agent}`,
  name: agent,
  iterations,
  copies: count,
  prompt: 'Work.',
  ...more,
})

describe('copies of a step', () => {
  test('work in worktrees, and all of their commits are merged', async () => {
    const cwd = makeBranchProject([copies('build', 3, 4), { agent: './ok' }], AGENTS)
    const { code, events } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(subjectsOf(cwd).toSorted()).toEqual(
      [
        'begin',
        ...[1, 2, 3].flatMap((copy) => [1, 2].map((i) => `work s1/c${copy}/i${i}`)),
      ].toSorted(),
    )
    expect(leftovers(cwd)).toEqual([])
    // Each commit at the end of an iteration is there, as itself or as the copy that the record names.
    const copied = new Map(ofType(events, 'merge_ended').flatMap(({ copies: all = [] }) => all))
    for (const { tip = 'none' } of ofType(events, 'iteration_ended').filter(
      ({ step }) => step === 1,
    ))
      expect(git(cwd, 'merge-base', 'main', copied.get(tip) ?? tip)).toBe(copied.get(tip) ?? tip)
  })

  test('that conflict get another iteration with the conflict as feedback', async () => {
    const cwd = makeBranchProject([copies('same', 3, 4)], { ...AGENTS, shared: 'begin\n' })
    const { code, stdout, stderr } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(readFileSync(join(cwd, 'shared'), 'utf8').trim().split('\n').toSorted()).toEqual([
      'begin',
      's1/c1/i1',
      's1/c2/i1',
      's1/c3/i1',
    ])
    expect(stdout + stderr).toContain('Sent back: conflict in shared')
    expect(leftovers(cwd)).toEqual([])
  })

  test('that conflict in many files get a prompt that is not too long', async () => {
    const many = sh(
      'case "$*" in *"cannot be merged"*) git merge -q -X ours main; echo ORCHESTRA_COMPLETE; exit;; esac',
      'for i in $(seq 1500); do echo $FORKHESTRA_SCOPE > component-of-a-large-project-with-a-rather-long-name-in-a-long-path-$i; done',
      'git add -A; git commit -qm many; echo ORCHESTRA_COMPLETE',
    )
    const cwd = makeBranchProject([copies('many', 2, 3)], { many })
    const { code, stderr } = await runBranches(cwd)
    expect([code, stderr]).toEqual([0, expect.stringContaining('and 1497 more')])
    expect(leftovers(cwd)).toEqual([])
  })

  test('without iterations left keep their branch, and a resume continues it', async () => {
    const cwd = makeBranchProject([copies('same', 2, 1)], { ...AGENTS, shared: 'begin\n' })
    const { code, events, stderr } = await runBranches(cwd)
    expect([code, reasonsIn(events).toSorted()]).toEqual([1, ['conflict', 'marker']])
    expect(worktreesOf(cwd)).toHaveLength(1)
    const [branch] = branchesOf(cwd).filter((name) => name !== 'main')
    expect(stderr).toContain(`git merge ${branch}`)
    expect((await inProject(cwd, 'resume')).code).toBe(0)
    expect(readFileSync(join(cwd, 'shared'), 'utf8').split('\n')).toHaveLength(4)
    expect(leftovers(cwd)).toEqual([])
  })

  test('are merged only if the checks pass on the result', async () => {
    // Two files of this kind together break the check; told so, an agent renames its own.
    const half = sh(
      'case "$*" in *"this check failed"*) git mv half-$COPY whole-$COPY;; *) touch half-$COPY; git add -A;; esac',
      'git commit -qm "$COPY"',
      'echo ORCHESTRA_COMPLETE',
    )
    const verify = '[ $(ls half-* 2>/dev/null | wc -l) -lt 2 ]'
    const cwd = makeBranchProject(
      [copies('half', 2, 3, { env: {}, args: [] })],
      { half: half.replaceAll('$COPY', '$(echo $FORKHESTRA_SCOPE | cut -d/ -f2)') },
      { verify },
    )
    const { code, events } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(leftovers(cwd)).toEqual([])
    for (const { to } of ofType(events, 'merge_moving')) {
      git(cwd, 'checkout', '-q', to)
      expect(Bun.spawnSync(['sh', '-c', verify], { cwd }).exitCode).toBe(0)
    }
    expect(ofType(events, 'merge_ended').map(({ result }) => result)).toContain('gate_failed')
  })

  test('are not blamed if the checks fail on the branch that they are merged into', async () => {
    const cwd = makeBranchProject([copies('build', 2, 2)], AGENTS, {})
    const { code, events } = await runBranches(cwd, '--verify', 'false', '--max-parallel', '2')
    // The steps themselves are refused first: their own check fails.
    expect([code, reasonsIn(events)]).toEqual([1, ['gate_failed', 'gate_failed']])
    expect(branchesOf(cwd)).toHaveLength(3)
  })

  test('commit under their name what they leave behind', async () => {
    const messy = sh(
      'echo "$FORKHESTRA_SCOPE" > "$(echo $FORKHESTRA_SCOPE | tr / -)"',
      'echo ORCHESTRA_COMPLETE',
    )
    const cwd = makeBranchProject([copies('messy', 2, 1)], { messy })
    expect((await runBranches(cwd)).code).toBe(0)
    expect(git(cwd, 'log', '--format=%an: %s', 'main').split('\n').toSorted()).toEqual([
      'messy#1: Uncommitted work of messy#1',
      'messy#2: Uncommitted work of messy#2',
      't: begin',
    ])
    expect(leftovers(cwd)).toEqual([])
  })

  test('are set up, and get the files that are copied', async () => {
    const check = sh('cat .env made && git status --porcelain', 'echo ORCHESTRA_COMPLETE')
    const cwd = makeBranchProject(
      [copies('check', 2, 1, { setup: 'echo made > made', copy: ['.env'] })],
      { check, '.gitignore': '.state\n.config\n.env\nmade\nnode_modules\n' },
    )
    writeFileSync(join(cwd, '.env'), 'secret-free\n')
    const { code, stdout, stderr } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(stdout).toContain('check#1 │ secret-free\ncheck#1 │ made\n')
    expect(stdout).toContain('check#2 │ [forkhestra] Setting up: echo made > made\n')
    expect(stderr).not.toContain('.env')
    writeFileSync(join(cwd, 'node_modules'), '')
    expect((await runBranches(cwd)).stderr).toContain(
      'do not have these ignored files: .state, node_modules',
    )
    // What git has is not replaced by what would then be committed.
    git(cwd, 'add', '-f', '.env')
    git(cwd, 'commit', '-qm', 'settings')
    git(cwd, 'update-index', '--assume-unchanged', '.env')
    writeFileSync(join(cwd, '.env'), 'mine\n')
    expect((await runBranches(cwd)).stdout).toContain('check#1 │ secret-free\ncheck#1 │ made\n')
  })

  test('make no progress when they are brought up to date', async () => {
    const idle = sh('until git log --format=%s main | grep -q work; do sleep 0.01; done')
    const steps = [
      { agent: './idle', iterations: 9, stall: 2 },
      { agent: './build', iterations: 2 },
    ]
    const cwd = makeBranchProject([{ parallel: steps }], { ...AGENTS, idle })
    const { events } = await runBranches(cwd)
    expect(ofType(events, 'step_ended').find(({ step }) => step === 1)).toMatchObject({
      reason: 'stalled',
      iterations: 2,
    })
  })

  test('are set up in their own place, and a failure does not end the others', async () => {
    const setup =
      'echo "$FORKHESTRA_SCOPE $FORKHESTRA_AGENT_NAME" > setup; case $FORKHESTRA_SCOPE in *c2*) exit 1;; esac'
    const check = sh('cat setup', 'rm setup', 'echo ORCHESTRA_COMPLETE')
    const cwd = makeBranchProject([copies('check', 3, 1, { setup })], { check })
    const { code, stdout, events } = await runBranches(cwd)
    expect(code).toBe(1)
    for (const copy of [1, 3])
      expect(stdout).toContain(`check#${copy} │ s1/c${copy}/i1 check#${copy}`)
    const ends = ofType(events, 'step_ended').map(({ scope, reason }) => `${scope[1]} ${reason}`)
    expect(ends.toSorted()).toEqual(['c1 marker', 'c2 error', 'c3 marker'])
  })

  test('do not start if their setup fails', async () => {
    const cwd = makeBranchProject(
      [copies('build', 2, 1, { setup: 'echo no network; exit 7' })],
      AGENTS,
    )
    const { code, events, stderr } = await runBranches(cwd)
    expect([code, reasonsIn(events)]).toEqual([1, ['error', 'error']])
    expect(ofType(events, 'iteration_started')).toEqual([])
    expect(stderr).toContain('exit 7')
    expect((await inProject(cwd, 'resume')).code).toBe(1)
  })

  test('of a group are set up in their own place, and a failure does not end the others', async () => {
    const setup = 'echo "$FORKHESTRA_SCOPE" > made; case $FORKHESTRA_SCOPE in */c1*) exit 7;; esac'
    const agent = sh('cat made', 'rm made', 'echo ORCHESTRA_COMPLETE')
    const group = { sequence: [{ agent: './agent', iterations: 2 }], copies: 2, setup }
    const { code, events, stdout } = await runBranches(makeBranchProject([group], { agent }))
    expect(code).toBe(1)
    expect(stdout).toMatch(/#2 +│ g1\/c2/)
    const ends = ofType(events, 'step_ended').map(({ scope, reason }) => `${scope[1]} ${reason}`)
    expect(ends.toSorted()).toEqual(['c1 error', 'c2 marker'])
    expect(stdout.match(/In parallel/g)).toHaveLength(1)
  })
})

test('a worktree is created although git failed halfway, because another one was being created', async () => {
  const wrapper = sh(
    'PATH=${PATH#*:}',
    'case "$*" in *"worktree add"*) if mkdir "$0.failed" 2> /dev/null; then',
    '  while [ $# -gt 0 ]; do if [ "$1" = -b ]; then git branch "$2" HEAD; fi; shift; done',
    '  echo "fatal: failed to read .git/worktrees/other/commondir: Success" >&2; exit 128',
    'fi;; esac',
    'exec git "$@"',
  )
  const ignored = '.state\n.config\ngit.failed\n'
  const files = { ...AGENTS, git: wrapper, '.gitignore': ignored }
  const cwd = makeBranchProject([copies('build', 2, 2)], files)
  expect((await runBranches(cwd)).code).toBe(0)
  expect(existsSync(join(cwd, 'git.failed'))).toBe(true)
  expect(leftovers(cwd)).toEqual([])
})

describe('a branch that git cannot merge is not complete', () => {
  const work = 'echo x > "$(echo $FORKHESTRA_SCOPE | tr / -)"; git add -A; git commit -qm work'
  const broken = {
    'whose git directory is gone': 'rm -rf "$(git rev-parse --git-dir)"',
    'whose worktree was moved': 'here=$PWD; cd ..; mv "$here" "$here.moved"',
    'of a repository that is gone': 'rm -rf "$(git rev-parse --git-common-dir)"',
    'of a repository with a broken configuration':
      'echo "[" >> "$(git rev-parse --git-common-dir)/config"',
  }
  test.each(Object.entries(broken))('%s', async (_, how) => {
    const agent = sh(work, how, 'echo ORCHESTRA_COMPLETE')
    const cwd = makeBranchProject([copies('agent', 2, 1)], { agent })
    const { code, stdout } = await runBranches(cwd)
    expect([code, stdout]).toEqual([1, expect.stringContaining('Chain incomplete (0/1 steps)')])
  })
})

describe('a group as a branch', () => {
  test('is merged at its end, and branches inside it into it', async () => {
    const inner = {
      parallel: [
        { agent: './build', iterations: 3 },
        { agent: './build', iterations: 3 },
      ],
    }
    const group = {
      sequence: [{ agent: './build', iterations: 2 }, inner],
      copies: 2,
      name: 'team',
    }
    const cwd = makeBranchProject([group], AGENTS)
    const { code, events } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(leftovers(cwd)).toEqual([])
    expect(subjectsOf(cwd)).toHaveLength(1 + 2 * 3 * 2)
    expect(new Set(ofType(events, 'branch_started').map(({ into }) => into)).size).toBe(3)
  })

  test('checks conditions in its worktree', async () => {
    const fix = { sequence: [{ agent: './ok' }], when: '[ "$(git log --format=%s -1)" != begin ]' }
    const team = { sequence: [{ agent: './build', iterations: 2 }, fix] }
    const cwd = makeBranchProject([{ parallel: [team, { agent: './ok' }] }], AGENTS)
    const { code, events } = await runBranches(cwd)
    expect([code, reasonsIn(events).toSorted()]).toEqual([
      0,
      ['marker', 'single_run', 'single_run'],
    ])
  })

  test('whose merge is refused starts another round', async () => {
    const cwd = makeBranchProject(
      [
        {
          sequence: [{ agent: './same', iterations: 1, prompt: 'Work.' }],
          iterations: 3,
          copies: 2,
        },
      ],
      { ...AGENTS, shared: 'begin\n' },
    )
    const { code, events } = await runBranches(cwd)
    expect(code).toBe(0)
    expect(
      ofType(events, 'group_started')
        .map(({ round }) => round)
        .toSorted((one, other) => one - other),
    ).toEqual([1, 1, 2])
    expect(leftovers(cwd)).toEqual([])
  })
})

test('a tag with the name of the branch and a file called HEAD do not confuse merges', async () => {
  const cwd = makeBranchProject([copies('build', 2, 2)], { ...AGENTS, HEAD: 'a file', main: 'too' })
  git(cwd, 'tag', 'main')
  const { code } = await runBranches(cwd)
  expect(code).toBe(0)
  expect(git(cwd, 'log', '--format=%s', 'refs/heads/main', '--').split('\n')).toHaveLength(5)
})

test('a whole chain can run in a worktree', async () => {
  const cwd = makeBranchProject(
    [
      { agent: './build', iterations: 3 },
      { agent: './build', iterations: 3 },
    ],
    AGENTS,
  )
  const { code, events } = await runBranches(cwd, '--worktree')
  expect(code).toBe(0)
  expect(subjectsOf(cwd)).toHaveLength(5)
  expect(leftovers(cwd)).toEqual([])
  expect(ofType(events, 'merge_ended')).toHaveLength(1)
})

describe('a run with branches', () => {
  test('stopped with Ctrl-C continues where it was', async () => {
    const slow = sh(
      'if [ -e "$PWD/go" ] || [ -e ../../go ]; then :; fi',
      'echo "$FORKHESTRA_SCOPE" > "$(echo $FORKHESTRA_SCOPE | tr / -)"; git add -A; git commit -qm "work $FORKHESTRA_SCOPE"',
      '[ "$FORKHESTRA_ITERATION" = 2 ] && [ ! -e "$FORKHESTRA_RECORD/go" ] && { echo waiting; exec sleep 60; }',
      '[ "$FORKHESTRA_ITERATION" -ge 2 ] && echo ORCHESTRA_COMPLETE',
      'exit 0',
    )
    const cwd = makeBranchProject([copies('slow', 2, 4)], { slow })
    const running = startBranches(cwd)
    await running.printed('slow#1 │ waiting')
    await running.printed('slow#2 │ waiting')
    running.signal('SIGINT')
    expect((await running.finished).code).toBe(130)
    expect(worktreesOf(cwd)).toHaveLength(2)
    const [run] = git(
      cwd,
      'for-each-ref',
      '--format=%(refname:lstrip=3)',
      'refs/heads/forkhestra',
    ).split('/')
    writeFileSync(join(cwd, 'forge/orch/runs', run!, 'go'), '')
    expect((await inProject(cwd, 'resume')).code).toBe(0)
    expect(subjectsOf(cwd).filter((subject) => subject.endsWith('i1'))).toHaveLength(2)
    expect(leftovers(cwd)).toEqual([])
    const events = journalOf(cwd, run!)
    expect(
      ofType(events, 'iteration_ended').filter(
        ({ iteration, again }) => iteration === 1 && again !== true,
      ),
    ).toHaveLength(2)
  })

  test.each<[string, (cwd: string, running: Running) => unknown]>([
    ['Ctrl-C', (_, running) => running.signal('SIGINT')],
    ['stop --now', (cwd) => inProject(cwd, 'stop', '--now')],
  ])('stopped by %s during a merge continues with that merge', async (_, stop) => {
    const verify =
      'case "$PWD" in *.merge*) touch "$FORKHESTRA_RECORD/begun"; [ -e "$FORKHESTRA_RECORD/go" ] || exec sleep 60;; esac'
    const cwd = makeBranchProject([copies('build', 2, 2)], AGENTS, { verify })
    const running = startBranches(cwd)
    const inRecord = (name: string) => join(cwd, 'forge/orch/runs', runsOf(cwd)[0] ?? '', name)
    await until(() => existsSync(inRecord('begun')))
    await stop(cwd, running)
    expect((await running.finished).code).not.toBe(0)
    writeFileSync(inRecord('go'), '')
    const resumed = await inProject(cwd, 'resume')
    const places = ofType(journalOf(cwd, runsOf(cwd)[0]!), 'iteration_ended').flatMap(
      ({ scope, again }) => (again === true ? [] : scope.join('/')),
    )
    expect([resumed.code, places.toSorted()]).toEqual([
      0,
      ['s1/c1/i1', 's1/c1/i2', 's1/c2/i1', 's1/c2/i2'],
    ])
    expect(leftovers(cwd)).toEqual([])
  })

  test('refuses to start a group if the project has uncommitted changes', async () => {
    const messy = sh('echo x > left-behind')
    const cwd = makeBranchProject([{ agent: './messy' }, copies('build', 2, 2)], {
      ...AGENTS,
      messy,
    })
    const { code, events, stdout } = await runBranches(cwd)
    expect([code, reasonsIn(events)]).toEqual([1, ['single_run', 'error', 'error']])
    expect(stdout).toContain('left-behind; commit or stash')
    git(cwd, 'add', '-A')
    git(cwd, 'commit', '-qm', 'left')
    expect((await inProject(cwd, 'resume')).code).toBe(0)
    expect(leftovers(cwd)).toEqual([])
  })

  test('merges aside what would overwrite the edits of a person', async () => {
    const edit = sh(
      'echo working; while [ ! -e "$FORKHESTRA_RECORD/go" ]; do sleep 0.05; done',
      'echo "$FORKHESTRA_SCOPE" > shared; git commit -qam work; echo ORCHESTRA_COMPLETE',
    )
    const cwd = makeBranchProject([copies('edit', 2, 1)], { edit, shared: 'begin\n' })
    const running = startBranches(cwd, '--max-parallel', '1')
    await running.printed('working')
    writeFileSync(join(cwd, 'shared'), 'edited by hand\n')
    const [run] = runsOf(cwd)
    writeFileSync(join(cwd, 'forge/orch/runs', run!, 'go'), '')
    const { code, stderr } = await running.finished
    // The second copy conflicts with the first, which is merged aside.
    expect(code).toBe(1)
    expect(readFileSync(join(cwd, 'shared'), 'utf8')).toBe('edited by hand\n')
    const aside = `forkhestra/${run}/merged`
    expect(stderr).toContain(`git merge --ff-only --no-overwrite-ignore ${aside}`)
    expect(git(cwd, 'show', `${aside}:shared`)).toMatch(/^s1\/c[12]\/i1$/)
    git(cwd, 'checkout', '-q', 'shared')
    git(cwd, 'merge', '-q', '--ff-only', aside)
  })
})
