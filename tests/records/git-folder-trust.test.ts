import { describe, expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { FORGE_TASKS } from '../support/forge-tasks.ts'
import { environment, forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

// An archive may hold a `.git` that leads to where its author wants us to write.

async function git(cwd: string, ...args: string[]): Promise<void> {
  const who = ['-c', 'user.name=A', '-c', 'user.email=a@b', '-c', 'protocol.file.allow=always']
  await Bun.$`git ${who} ${args}`.cwd(cwd).quiet()
}

async function tasks(cwd: string, ...args: string[]) {
  const child = Bun.spawn([FORGE_TASKS, ...args], {
    cwd,
    env: environment({ cwd }),
    stderr: 'pipe',
  })
  const [stderr, code] = await Promise.all([child.stderr.text(), child.exited])
  return { stderr, code }
}

/** A repository of the user's, and a folder that was unpacked beside it. */
async function unpack() {
  const outer = makeProject({ 'archive/agent': sh('echo hi'), 'archive/forge/x': '' })
  const [own, cwd] = [join(outer, 'own'), join(outer, 'archive')]
  mkdirSync(own)
  await git(own, 'init', '-q')
  await git(own, 'commit', '-q', '--allow-empty', '-m', 'x')
  return { outer, own, cwd }
}

const STATE = ['forge-tasks', 'forkhestra']

function isUntouched(own: string): boolean {
  const folders = ['', '.git', '.git/modules/sub', 'home'].map((folder) => join(own, folder))
  return folders.every((folder) => STATE.every((name) => !existsSync(join(folder, name))))
}

test('a link in place of the folder for local state is not written through', async () => {
  const { outer, cwd } = await unpack()
  await git(cwd, 'init', '-q')
  mkdirSync(join(outer, 'target'))
  for (const name of STATE) symlinkSync(join(outer, 'target'), join(cwd, '.git', name))
  const { code, stderr } = await tasks(cwd, 'create', 'A')
  expect(code).toBe(1)
  expect(stderr).toContain('.git/forge-tasks is a symbolic link')
  expect((await tasks(cwd, 'list')).code).toBe(0)
  expect((await forkhestra(['./agent'], { cwd })).code).toBe(0)
  expect(readdirSync(join(outer, 'target'))).toEqual([])
})

test('a link in place of the folder of active runs is not written through', async () => {
  const { outer, cwd } = await unpack()
  await git(cwd, 'init', '-q')
  mkdirSync(join(outer, 'target'))
  writeFileSync(join(outer, 'target/run'), '')
  mkdirSync(join(cwd, '.git/forkhestra'))
  symlinkSync(join(outer, 'target'), join(cwd, '.git/forkhestra/at-work'))
  expect((await forkhestra(['worktrees'], { cwd })).code).toBe(0)
  expect(readdirSync(join(outer, 'target'))).toEqual(['run'])
})

test('the worktrees of runs are inspected without the filters of the repository', async () => {
  const { outer, cwd } = await unpack()
  await git(cwd, 'init', '-q')
  await git(cwd, 'add', '-A')
  await git(cwd, 'commit', '-q', '-m', 'x')
  const ran = join(outer, 'ran')
  const trees = ['one', 'two'].map((name) => {
    const run = '20261119-000000-abcdef'
    return { name, path: join(outer, `archive.worktrees/${run}-${name}`), branch: `${run}-${name}` }
  })
  await git(cwd, 'config', 'extensions.worktreeConfig', 'true')
  for (const { name, path, branch } of trees) {
    await git(cwd, 'worktree', 'add', '-q', '-b', `forkhestra/${branch}`, path)
    writeFileSync(join(path, '.gitattributes'), `* filter=${name}\n`)
    writeFileSync(join(path, 'agent'), sh('echo ho'))
  }
  const filter = `touch ${ran}; cat`
  await git(cwd, 'config', 'filter.one.clean', filter)
  await git(trees[1]!.path, 'config', '--worktree', 'filter.two.clean', filter)
  for (const option of [[], ['--clean']]) {
    const { stdout } = await forkhestra(['worktrees', ...option], { cwd })
    expect(stdout).toContain('uncommitted changes')
  }
  expect(existsSync(ran)).toBe(false)
})

describe('a repository that does not know the folder is not written to, by', () => {
  const POINTERS = [
    [
      'a file .git',
      (own: string, cwd: string) => writeFileSync(join(cwd, '.git'), `gitdir: ${own}/.git\n`),
    ],
    ['a link .git', (own: string, cwd: string) => symlinkSync(`${own}/.git`, join(cwd, '.git'))],
    [
      'a file .git that leads to a submodule',
      async (own: string, cwd: string) => {
        const library = makeProject()
        await git(library, 'init', '-q')
        await git(library, 'commit', '-q', '--allow-empty', '-m', 'x')
        await git(own, 'submodule', '--quiet', 'add', library, 'sub')
        writeFileSync(join(cwd, '.git'), `gitdir: ${own}/.git/modules/sub\n`)
      },
    ],
    [
      'a commondir of its own',
      async (own: string, cwd: string) => {
        await git(cwd, 'init', '-q')
        writeFileSync(join(cwd, '.git/commondir'), `${own}/.git\n`)
      },
    ],
    [
      'a file .git that leads to a folder without a repository',
      (own: string, cwd: string) => {
        mkdirSync(join(own, 'home'))
        writeFileSync(join(cwd, '.git'), `gitdir: ${own}/home\n`)
      },
    ],
    [
      'a folder of worktrees without a repository',
      (own: string, cwd: string) => {
        symlinkSync(dirname(cwd), join(own, 'worktrees'))
        writeFileSync(join(cwd, '.git'), 'gitdir: .\n')
        writeFileSync(join(cwd, 'gitdir'), `${cwd}/.git\n`)
        writeFileSync(join(cwd, 'commondir'), `${own}\n`)
      },
    ],
    [
      'a worktree that it made up',
      (own: string, cwd: string) => {
        mkdirSync(join(cwd, 'fake'))
        writeFileSync(join(cwd, '.git'), 'gitdir: fake\n')
        writeFileSync(join(cwd, 'fake/gitdir'), `${cwd}/.git\n`)
        writeFileSync(join(cwd, 'fake/HEAD'), 'ref: refs/heads/main\n')
        writeFileSync(join(cwd, 'fake/commondir'), `${own}/.git\n`)
      },
    ],
  ] as const

  test.each(POINTERS)('%s', async (_, point) => {
    const { own, cwd } = await unpack()
    await point(own, cwd)
    expect((await tasks(cwd, 'create', 'A')).code).toBe(0)
    expect((await tasks(cwd, 'next', '--claim', '--as', 'me')).code).toBe(0)
    expect((await forkhestra(['./agent'], { cwd })).code).toBe(0)
    expect(isUntouched(own)).toBe(true)
  })
})

test('worktrees and submodules keep their state with git', async () => {
  const { outer, own } = await unpack()
  await git(own, 'worktree', 'add', '-q', join(outer, 'linked'))
  await tasks(join(outer, 'linked'), 'create', 'A')
  expect(existsSync(join(own, '.git/forge-tasks/state.json'))).toBe(true)
  const library = join(outer, 'library')
  mkdirSync(library)
  await git(library, 'init', '-q')
  await git(library, 'commit', '-q', '--allow-empty', '-m', 'x')
  await git(own, 'submodule', '--quiet', 'add', library, 'sub')
  await tasks(join(own, 'sub'), 'create', 'B')
  expect(existsSync(join(own, '.git/modules/sub/forge-tasks/state.json'))).toBe(true)
})

describe('a folder of the record that becomes a link during a run is not written through', () => {
  const STEPS = ['one', 'two'].map((prompt) => ({ agent: './agent', prompt }))
  const CHANGES = [
    ['steps', 'rm -r steps; ln -s "$OLDPWD/target" steps'],
    ['the folder of a step', 'rm -r steps/1; mkdir -p steps; ln -s "$OLDPWD/target" steps/1'],
    ['prompts', 'rm -rf prompts; ln -s "$OLDPWD/target" prompts'],
  ] as const
  test.each(CHANGES)('%s', async (_, change) => {
    const cwd = makeProject({
      agent: sh(
        'cd "$FORKHESTRA_RECORD"',
        // Not before the run has written what it writes at the beginning.
        'echo begun',
        `if [ "$FORKHESTRA_STEP" = 1 ]; then until [ -s steps/1/iterations/1.log ]; do sleep 0.01; done; ${change}; fi`,
        'cd - >/dev/null',
        'head -c 9000000 /dev/zero',
      ),
      'forge/orch/chains.json': JSON.stringify({ chains: { work: { steps: STEPS } } }),
      'target/keep': 'kept\n',
    })
    const { stderr } = await forkhestra(['--chain', 'work'], { cwd })
    expect(stderr).toContain(
      'the record cannot be written at the moment: a symbolic link points outside',
    )
    expect(readdirSync(join(cwd, 'target'))).toEqual(['keep'])
    expect(readFileSync(join(cwd, 'target/keep'), 'utf8')).toBe('kept\n')
  })
})
