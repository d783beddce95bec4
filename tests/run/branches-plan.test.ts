import { describe, expect, test } from 'bun:test'
import { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, writeFiles, type Files } from '../support/project.ts'
import { git } from '../support/repository.ts'
import { makeScriptProject, runScript } from '../support/script.ts'

const IGNORED = '.state\n.config\nran\nignored\n'

const AGENTS: Files = {
  ok: sh('touch "$PWD/ran"'),
  notes: 'Some notes\n',
  '.gitignore': IGNORED,
  'forge/orch/chains.json': JSON.stringify({
    chains: {
      rounds: {
        steps: [
          {
            sequence: [
              { agent: 'ok', iterations: 9 },
              { agent: 'ok', iterations: 1 },
            ],
            iterations: 3,
          },
        ],
      },
      inner: { steps: [{ chain: 'rounds' }, { agent: 'ok' }] },
      once: { steps: [{ agent: 'ok' }] },
    },
  }),
}

/** A repository on `main` with one commit. */
function makeRepository(files: Files = {}): string {
  const cwd = makeProject({ ...AGENTS, ...files })
  git(cwd, 'init', '-q', '-b', 'main')
  name(cwd)
  commit(cwd, 'Start')
  return cwd
}

function name(cwd: string): void {
  git(cwd, 'config', 'user.name', 'me')
  git(cwd, 'config', 'user.email', 'me@example.org')
}

function commit(cwd: string, message: string): void {
  git(cwd, 'add', '-A')
  git(cwd, 'commit', '-qm', message)
}

const run = (cwd: string, ...args: string[]) => forkhestra(args, { cwd })

const dry = (cwd: string, ...args: string[]) => run(cwd, ...args, '--dry-run')

/** The facts about steps and groups in `--dry-run --json`. */
async function facts(cwd: string, ...args: string[]) {
  const { stdout } = await dry(cwd, ...args, '--json')
  return JSON.parse(stdout) as {
    readonly steps: readonly { readonly copies?: number; readonly branch?: object }[]
    readonly groups?: readonly { readonly id: string; readonly branch?: object }[]
    readonly chain: object
  }
}

const copiesOf = async (cwd: string, ...args: string[]) =>
  (await facts(cwd, ...args)).steps.map(({ copies }) => copies ?? 1)

test('a dry run says where each branch works and how it is merged', async () => {
  const cwd = makeRepository({ '.env': 'A=1\n' })
  const chain = 'ok -> (ok:3*4 & ok & (ok:2*2 -> ok))'
  const options = ['--verify', 'npm test', '--setup', 'npm ci', '--copy', '.env']
  const { code, stdout, stderr } = await dry(cwd, chain, ...options, '--max-parallel', '8')
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toBe(`[forkhestra] Dry run - would execute the following chain:

  The chain as a whole
       parallel: at most 8 agents at once

  1. ok - run once
       verify: npm test
       limits: 4 h, retries for 2 h, waits up to 6 h
  Group g1 - in parallel
    2. ok - loop up to 3 iterations, 4 copies in parallel
         verify: npm test
         limits: 4 h per iteration, retries for 2 h, waits up to 6 h
         branch: a worktree for each copy, rebased onto main, checked by npm test
         copy: .env
         setup: npm ci
    3. ok - run once
         verify: npm test
         limits: 4 h, retries for 2 h, waits up to 6 h
         branch: shared folder
    Group g2 - one after another
           branch: own worktree, rebased onto main, checked by npm test
           copy: .env
           setup: npm ci
      4. ok - loop up to 2 iterations, 2 copies in parallel
           verify: npm test
           limits: 4 h per iteration, retries for 2 h, waits up to 6 h
           branch: a worktree for each copy, rebased onto the outer branch, checked by npm test
           copy: .env
           setup: npm ci
      5. ok - run once
           verify: npm test
           limits: 4 h, retries for 2 h, waits up to 6 h

[forkhestra] Dry run complete. No agents were executed.
`)
})

test('--worktree shows the same for the chain as a whole', async () => {
  const { stdout, stderr } = await dry(makeRepository(), 'ok:3', '--worktree')
  expect(stdout).toContain(
    '  The chain as a whole\n       branch: own worktree, rebased onto main, not checked\n',
  )
  expect(stderr).toBe(
    `[forkhestra] Warning: nothing checks the merged work of the chain: add "verify" in the configuration, or --verify "npm test"\n`,
  )
})

test('--json has the same facts', async () => {
  const cwd = makeRepository()
  const options = ['--worktree', '--setup', 'true', '--copy', 'ok', '--verify', 'true']
  const { steps, groups, chain } = await facts(cwd, 'ok & (ok:2 -> ok)', ...options)
  const worktree = {
    isolation: 'worktree',
    setup: 'true',
    copy: ['ok'],
    merge: 'rebase',
    verify: ['true'],
  }
  expect(steps.map(({ branch }) => branch)).toEqual([
    { isolation: 'shared', merge: 'rebase', verify: ['true'] },
    undefined,
    undefined,
  ])
  expect(groups?.map(({ id, branch }) => [id, branch])).toEqual([
    ['g1', undefined],
    ['g2', worktree],
  ])
  expect(chain).toMatchObject({ maxParallel: 4, branch: worktree })
})

test('the variables of copies are shown as written, and cannot be set', async () => {
  const cwd = makeRepository({
    'forge/orch/chains.json':
      '{"chains":{"c":{"prompt":"${COPY} of ${COPIES}","steps":[{"agent":"ok","copies":2}]}}}',
  })
  expect((await dry(cwd, '--chain', 'c')).stdout).toContain('prompt: "${COPY} of ${COPIES}"')
  const { code, stderr } = await dry(cwd, '--chain', 'c', 'COPIES=3')
  expect([code, stderr]).toEqual([2, expect.stringContaining("The variable 'COPIES' is set by")])
})

describe('--copies', () => {
  test.each<[string, string[], number[]]>([
    ['the last step that loops', ['ok:3 -> ok:5 -> ok'], [1, 4, 1]],
    ['instead of its own copies', ['ok:3*2'], [4]],
    ['one inside a group', ['(ok:3 -> ok) -> ok'], [4, 1, 1]],
    ['not a reviewer', ['ok:3 -> ok:1'], [4, 1]],
    ['one iteration if there is no other loop', ['ok:1 -> ok'], [4, 1]],
    ['a named chain', ['--chain', 'rounds'], [4, 1]],
    ['a chain that a chain uses', ['--chain', 'inner'], [4, 1, 1]],
  ])('copies %s', async (_, chain, expected) => {
    expect(await copiesOf(makeRepository(), ...chain, '--copies', '4')).toEqual(expected)
  })

  test.each([
    ['ok -> ok', '4', '--copies 4 needs an agent that runs in a loop, and the chain has none.'],
    ['ok:3', '1', '--copies is "1", expected a whole number from 2 to 64.'],
    ['ok:3', '65', '--copies is "65", expected a whole number from 2 to 64.'],
    ['ok:3', 'x', '--copies is "x", expected a whole number from 2 to 64.'],
  ])('is refused: %s --copies %s', async (chain, copies, words) => {
    const { code, stderr } = await run(makeRepository(), chain, '--copies', copies)
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
  })
})

describe('--copy', () => {
  test('is relative to the current folder, like every path that is typed', async () => {
    const cwd = makeRepository({ 'sub/.env': '', 'forge/orch/chains.json': '{"chains":{}}' })
    const env = { PATH: `${cwd}:${process.env['PATH']}` }
    const args = [
      'ok:2*2',
      '--copy',
      '.env',
      '--copy',
      '../ok',
      '--copy',
      join(cwd, 'sub'),
      '--json',
    ]
    const { stdout } = await forkhestra([...args, '--dry-run'], { cwd: join(cwd, 'sub'), env })
    expect(JSON.parse(stdout)).toMatchObject({
      steps: [{ branch: { copy: ['sub/.env', 'ok', 'sub'] } }],
    })
  })

  test.each(['', '..', '../x', '/etc/passwd', '.', '.git', 'a/../../x'])(
    "'%s' is refused",
    async (path) => {
      const { code, stderr } = await dry(makeRepository(), 'ok:2*2', '--copy', path)
      expect(code).toBe(2)
      expect(stderr).toContain(`--copy is '${path}', expected a path inside the project.`)
    },
  )
})

test.each([
  ['--max-parallel', '0', '--max-parallel is "0", expected a whole number of at least 1.'],
  ['--setup', ' ', 'The command for --setup is empty.'],
])('%s %s is refused', async (option, value, words) => {
  const { code, stderr } = await dry(makeRepository(), 'ok:2*2', option, value)
  expect([code, stderr]).toEqual([2, expect.stringContaining(words)])
})

test('resume changes only how many agents run at once', async () => {
  const cwd = makeProject({ bad: sh('exit 1') })
  await run(cwd, 'bad')
  const copies = await run(cwd, 'resume', '--copies', '2')
  expect([copies.code, copies.stderr]).toEqual([
    2,
    expect.stringContaining('Unknown option --copies'),
  ])
  const { stdout } = await run(cwd, 'resume', '--max-parallel', '7', '--json')
  expect(JSON.parse(stdout.split('\n')[0]!)).toMatchObject({
    type: 'run_resumed',
    plan: { maxParallel: 7 },
  })
})

test('validate reports wrong settings of branches with their place', async () => {
  const steps = [{ agent: 'ok', iterations: 2, copies: 2, isolation: 'none', copy: ['../x'] }]
  const cwd = makeProject({
    ok: sh(),
    'forge/orch/chains.json': JSON.stringify({ chains: { c: { maxParallel: 0, steps } } }),
  })
  const { code, stderr } = await forkhestra(['validate'], { cwd })
  expect(code).toBe(2)
  expect(stderr).toContain('c.maxParallel is 0, expected a whole number, 1 or more')
  expect(stderr).toContain('c.steps[0].isolation is "none", expected "shared" or "worktree"')
  expect(stderr).toMatch(
    /chains\.json:1:\d+  chains\.c\.steps\[0\]\.copy\[0\] is "\.\.\/x", expected a path inside the project such as "\.env"/,
  )
})

/** Two branches that changed the same file, and an operation that stops at the conflict. */
function conflict(cwd: string, command: string): void {
  git(cwd, 'switch', '-qc', 'other')
  writeFileSync(join(cwd, 'file'), 'other')
  commit(cwd, 'other')
  git(cwd, 'switch', '-q', 'main')
  writeFileSync(join(cwd, 'file'), 'main')
  commit(cwd, 'main')
  expect(() => git(cwd, command, 'other')).toThrow()
}

describe('worktrees need a repository that can have them', () => {
  test.each<[string, (cwd: string) => void, string, string]>([
    [
      'a changed file',
      (cwd) => appendFileSync(join(cwd, '.gitignore'), 'x\n'),
      'Worktrees start from the last commit, but some changes are not committed: .gitignore.',
      'Commit them: git add -A && git commit',
    ],
    [
      'new files',
      (cwd) => writeFiles(cwd, { 'a b/1': '', 'a b/2': '', c: '', d: '', e: '', f: '', g: '' }),
      'some changes are not committed: a b/1, a b/2, c, d, e and 2 more files.',
      'Or stash them: git stash --include-untracked',
    ],
    [
      'a renamed file',
      (cwd) => git(cwd, 'mv', 'notes', 'other'),
      'some changes are not committed: notes, other.',
      'Commit them',
    ],
    [
      'a detached HEAD',
      (cwd) => git(cwd, 'switch', '-q', '--detach'),
      'HEAD is detached, so there is no branch to merge into.',
      'git switch -c NAME',
    ],
    [
      'a branch in the way',
      (cwd) => git(cwd, 'branch', 'forkhestra'),
      "A branch is called 'forkhestra', so git cannot create branches called forkhestra/….",
      'git branch -m forkhestra NAME',
    ],
    [
      'no commit',
      (cwd) => {
        rmSync(join(cwd, '.git'), { recursive: true })
        git(cwd, 'init', '-q', '-b', 'main')
      },
      'The repository has no commits, so worktrees have nothing to start from.',
      'git add -A && git commit -m "Start"',
    ],
    [
      'a merge',
      (cwd) => conflict(cwd, 'merge'),
      'The repository has a merge in progress.',
      'Run: git merge --continue, or git merge --abort',
    ],
    [
      'a rebase',
      (cwd) => conflict(cwd, 'rebase'),
      'The repository has a rebase in progress.',
      'git rebase --abort',
    ],
    [
      'a cherry-pick',
      (cwd) => conflict(cwd, 'cherry-pick'),
      'The repository has a cherry-pick in progress.',
      'git cherry-pick --abort',
    ],
    [
      'no working tree',
      (cwd) => git(cwd, 'config', 'core.bare', 'true'),
      'is in a bare repository, but branches are merged into a working tree.',
      'Clone it, and run in the clone',
    ],
    [
      'a broken repository',
      (cwd) => writeFileSync(join(cwd, '.git/config'), '['),
      'git cannot read the repository of',
      'See why: git status',
    ],
  ])('and not %s', async (_, prepare, message, hint) => {
    const cwd = makeRepository()
    prepare(cwd)
    for (const args of [['ok:2*2'], ['ok:2*2', '--dry-run'], ['ok', '--worktree']]) {
      const { code, stdout, stderr } = await run(cwd, ...args)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toContain(message)
      expect(stderr).toContain(hint)
    }
    expect(existsSync(join(cwd, 'ran'))).toBe(false)
    // Nothing of this concerns branches that share the folder.
    expect((await dry(cwd, 'ok & ok')).code).toBe(0)
  })

  test('and not a bare one', async () => {
    const cwd = join(makeProject(), 'r.git')
    const from = makeRepository()
    git(from, 'clone', '-q', '--bare', from, cwd)
    const { code, stderr } = await run(cwd, `${from}/ok:2*2`)
    expect([code, stderr]).toEqual([2, expect.stringContaining('is in a bare repository')])
  })

  test.each(['forge/tasks', 'forge/tasks/*', '*.md'])('and not ignored tasks: %s', async (line) => {
    const cwd = makeRepository({ '.gitignore': `${IGNORED}${line}\n` })
    expect((await dry(cwd, 'ok:2*2')).code).toBe(0)
    writeFiles(cwd, { 'forge/tasks/task-1.md': 'a' })
    const { code, stderr } = await run(cwd, 'ok:2*2')
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(
        'git ignores forge/tasks/task-1.md, so worktrees would not have this task.',
      ),
    ])
  })

  test('without a name for commits there is a warning', async () => {
    const cwd = makeRepository()
    git(cwd, 'config', 'user.useConfigOnly', 'true')
    git(cwd, 'config', '--unset', 'user.email')
    const { code, stderr } = await dry(cwd, 'ok:2*2', '--verify', 'true')
    expect([code, stderr]).toEqual([
      0,
      '[forkhestra] Warning: git user.name and user.email are not set, so agents cannot commit; run: git config user.name NAME && git config user.email ADDRESS\n',
    ])
  })

  test('and not a project that git ignores', async () => {
    const top = makeRepository()
    const cwd = join(top, 'ignored')
    mkdirSync(cwd)
    const { code, stderr } = await run(cwd, '--cwd', cwd, '../ok:2*2')
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('The folder ignored is not in the last commit'),
    ])
  })

  test('without one, everything shares the folder, which is a warning', async () => {
    const cwd = makeProject(AGENTS)
    const { code, stdout, stderr } = await dry(cwd, 'ok:2*2')
    expect([code, stdout]).toEqual([0, expect.stringContaining('branch: shared folder')])
    expect(stderr).toBe(
      `[forkhestra] Warning: ${cwd} is not in a git repository: 2 copies of 'ok' work in the same folder and may overwrite each other's changes\n`,
    )
    const whole = await dry(cwd, 'ok', '--worktree')
    expect([whole.code, whole.stderr]).toEqual([
      2,
      expect.stringContaining('--worktree needs a git repository.'),
    ])
  })

  test.each<[string, (cwd: string) => string]>([
    [
      'new and changed task files',
      (cwd) => {
        writeFiles(cwd, { 'forge/tasks/task-1.md': 'a', 'forge/tasks/archive/task-0.md': 'b' })
        return cwd
      },
    ],
    [
      'ignored files',
      (cwd) => {
        writeFiles(cwd, { ran: '', 'ignored/x': '' })
        return cwd
      },
    ],
    [
      'a linked worktree',
      (cwd) => {
        git(cwd, 'worktree', 'add', '-q', '-b', 'side', join(cwd, 'ignored/tree'))
        return join(cwd, 'ignored/tree')
      },
    ],
    [
      'a shallow clone',
      (cwd) => {
        const clone = join(makeProject(), 'clone')
        git(cwd, 'clone', '-q', '--depth', '1', `file://${cwd}`, clone)
        name(clone)
        return clone
      },
    ],
    [
      'a sparse checkout',
      (cwd) => {
        git(cwd, 'sparse-checkout', 'set', '--no-cone', '/*', '!forge')
        return cwd
      },
    ],
    [
      'a submodule with work in it',
      (cwd) => {
        const other = makeRepository()
        git(cwd, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other, 'part')
        commit(cwd, 'Add a submodule')
        writeFileSync(join(cwd, 'part/new'), '')
        return cwd
      },
    ],
    [
      'a project below the top',
      (cwd) => {
        writeFiles(cwd, { 'below/forge/orch/chains.json': '{"chains":{}}' })
        commit(cwd, 'Add a project')
        writeFiles(cwd, { 'below/forge/tasks/task-1.md': 'a' })
        return join(cwd, 'below')
      },
    ],
  ])('but it may have %s', async (_, prepare) => {
    const top = makeRepository()
    const cwd = prepare(top)
    const { code, stderr } = await dry(cwd, `${top}/ok:2*2`, '--verify', 'true')
    expect([code, stderr]).toEqual([0, ''])
  })

  test('also for programs that use the library', async () => {
    const cwd = makeRepository()
    writeFileSync(join(cwd, 'new'), '')
    const script = `import { executeChain } from 'forkhestra'
      const steps = [{ agent: '${cwd}/ok', iterations: 2, loop: true, copies: 2 }]
      await executeChain({ cwd: '${cwd}', steps }).catch(({ message }) => print(message))
      function print(value) { console.log(JSON.stringify(value)) }`
    const printed = await runScript(makeScriptProject({}), script)
    expect(printed).toEqual([expect.stringContaining('some changes are not committed: new.')])
  })
})
