import { describe, expect, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { environment } from '../../../tests/support/forkhestra.ts'
import { makeProject, sh, writeFiles, type Files } from '../../../tests/support/project.ts'
import { commitAll, git } from '../../../tests/support/tasks-stress.ts'
import { changesBetween, takeSnapshot, type GitSnapshot } from './git-snapshot.ts'

const FILES: Files = { 'a.txt': 'one\n', 'src/b.txt': 'two\n', '.gitignore': '*.log\n' }

async function makeRepository(files = FILES, ...init: string[]): Promise<string> {
  const root = makeProject(files)
  await git(root, 'init', '-q', '-b', 'main', ...init)
  await commitAll(root, 'Begin')
  return root
}

function envOf(cwd: string): Record<string, string> {
  return environment({ cwd, env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' } })
}

async function tryToLook(cwd: string, uncounted?: string[]): Promise<GitSnapshot | undefined> {
  return takeSnapshot(cwd, envOf(cwd), uncounted)
}

async function look(cwd: string, uncounted?: string[]): Promise<GitSnapshot & { files: string[] }> {
  const seen = await tryToLook(cwd, uncounted)
  if (seen === undefined) throw new Error('git could not be asked')
  return { ...seen, files: [...seen.prints.keys()] }
}

/** What an action does to the look at a repository. */
async function compare(root: string, act: () => unknown): Promise<'same' | 'moved' | 'changed'> {
  const before = await look(root)
  await act()
  const after = await look(root)
  if (before.head !== after.head) return 'moved'
  return before.tree === after.tree ? 'same' : 'changed'
}

describe('a snapshot of a repository', () => {
  test('of a clean tree has the commit and no files', async () => {
    const root = await makeRepository()
    const head = await git(root, 'rev-parse', 'HEAD')
    expect(await look(root)).toMatchObject({ head, files: [] })
  })

  test('has paths from the root, wherever it is taken', async () => {
    const root = await makeRepository()
    writeFiles(root, { 'src/b.txt': 'edited\n', 'new/c.txt': 'new\n', 'x.log': 'ignored\n' })
    unlinkSync(join(root, 'a.txt'))
    const seen = await look(join(root, 'src'))
    expect(seen.files).toEqual(['a.txt', 'src/b.txt', 'new/c.txt'])
    expect(seen.tree).toBe((await look(root)).tree)
  })

  test.each<[string, (root: string) => unknown]>([
    ['a file is edited', (root) => appendFileSync(join(root, 'a.txt'), 'more')],
    ['a file is deleted', (root) => unlinkSync(join(root, 'a.txt'))],
    ['a file becomes a program', (root) => chmodSync(join(root, 'a.txt'), 0o755)],
    ['a file is made', (root) => writeFileSync(join(root, 'new.txt'), '')],
    ['a file gets another name', (root) => renameSync(join(root, 'a.txt'), join(root, 'z.txt'))],
    ['a file with an odd name is made', (root) => writeFileSync(join(root, 'ü\n "x'), 'odd')],
    ['a link is made', (root) => symlinkSync('nowhere', join(root, 'link'))],
    ['a new file is staged and gone', (root) => stageAndRemove(root)],
  ])('changes when %s', async (_, act) => {
    const root = await makeRepository()
    expect(await compare(root, () => act(root))).toBe('changed')
  })

  test.each<[string, (root: string) => unknown]>([
    ['a file that is dirty is edited again', (root) => writeFileSync(join(root, 'a.txt'), 'DIRTY')],
    ['a new file is edited again', (root) => writeFileSync(join(root, 'new.txt'), 'NEW')],
    ['an odd file is edited again', (root) => writeFileSync(odd(root), 'ODD')],
    ['a link leads elsewhere', (root) => relink(join(root, 'link'), 'elsewhere')],
    ['a new file becomes a program', (root) => chmodSync(join(root, 'new.txt'), 0o755)],
    ['a long file grows', (root) => truncateSync(join(root, 'long'), 3_000_000)],
    ['what was dirty is restored', async (root) => git(root, 'checkout', '-q', 'a.txt')],
  ])('of a dirty tree changes when %s', async (_, act) => {
    const root = await makeDirty()
    expect(await compare(root, () => act(root))).toBe('changed')
  })

  test.each<[string, (root: string) => unknown]>([
    ['nothing happens', () => undefined],
    ['clean files are touched', (root) => touch(join(root, 'src/b.txt'))],
    ['dirty files are touched', (root) => touch(join(root, 'a.txt'))],
    ['new files are touched', (root) => touch(join(root, 'new.txt'))],
    ['a file that git ignores is made', (root) => writeFileSync(join(root, 'x.log'), 'x')],
    ['dirty files are staged', async (root) => git(root, 'add', 'a.txt')],
    ['new files are staged', async (root) => git(root, 'add', '-A')],
    ['another branch begins', async (root) => git(root, 'checkout', '-q', '-b', 'other')],
    ['HEAD is detached', async (root) => git(root, 'checkout', '-q', '--detach')],
  ])('stays the same when %s', async (_, act) => {
    const root = await makeDirty()
    expect(await compare(root, () => act(root))).toBe('same')
  })

  test('sees a name that is not valid UTF-8', async () => {
    const root = await makeRepository()
    const path = Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])])
    writeFileSync(path, 'one')
    expect(await compare(root, () => writeFileSync(path, 'two'))).toBe('changed')
  })

  test('does not hang on a pipe in place of a file', async () => {
    const root = await makeRepository()
    unlinkSync(join(root, 'a.txt'))
    Bun.spawnSync(['mkfifo', join(root, 'a.txt')])
    expect(await look(root)).toMatchObject({ files: ['a.txt'] })
  })

  test('leaves uncounted folders out of the hash', async () => {
    const root = await makeRepository()
    const before = await look(root, [join(root, 'forge/tasks')])
    writeFiles(root, { 'forge/tasks/x.md': 'x' })
    const after = await look(root, [join(root, 'forge/tasks')])
    expect(after).toMatchObject({ tree: before.tree, files: ['forge/tasks/x.md'] })
    writeFiles(root, { 'forge/tasks-other/x.md': 'x' })
    expect((await look(root, [join(root, 'forge/tasks')])).tree).not.toBe(before.tree)
  })
})

describe('a snapshot works in', () => {
  test('a repository without a commit', async () => {
    const root = makeProject({ 'a.txt': 'one' })
    await git(root, 'init', '-q')
    expect(await look(root)).toMatchObject({ head: undefined, files: ['a.txt'] })
  })

  test('a repository of SHA-256', async () => {
    const root = await makeRepository(FILES, '--object-format=sha256')
    appendFileSync(join(root, 'a.txt'), 'more')
    const { head, files } = await look(root)
    expect({ length: head?.length, files }).toEqual({ length: 64, files: ['a.txt'] })
  })

  test('a worktree', async () => {
    const root = await makeRepository()
    const tree = join(makeProject(), 'tree')
    await git(root, 'worktree', 'add', '-q', '-b', 'other', tree)
    expect(await compare(tree, () => appendFileSync(join(tree, 'a.txt'), 'x'))).toBe('changed')
    expect((await look(root)).files).toEqual([])
  })

  test('a submodule, including its uncommitted files', async () => {
    const [root, part] = [await makeRepository(), await makeRepository()]
    const allow = ['-c', 'protocol.file.allow=always']
    await git(root, ...allow, 'submodule', '--quiet', 'add', part, 'part')
    await commitAll(root, 'Part')
    const edit = (text: string) => () => writeFileSync(join(root, 'part/a.txt'), text)
    expect(await compare(root, edit('first'))).toBe('changed')
    expect(await compare(root, edit('again'))).toBe('changed')
    expect(await compare(root, async () => commitAll(join(root, 'part'), 'In it'))).toBe('changed')
    expect((await look(root)).files).toEqual(['part'])
  })

  test('an untracked nested repository', async () => {
    const root = await makeRepository()
    writeFiles(root, { 'inner/a.txt': 'one' })
    await git(join(root, 'inner'), 'init', '-q')
    await commitAll(join(root, 'inner'), 'Begin')
    const edit = () => writeFileSync(join(root, 'inner/a.txt'), 'two')
    expect(await compare(root, edit)).toBe('changed')
    expect(await compare(root, async () => commitAll(join(root, 'inner'), 'Next'))).toBe('changed')
  })
})

describe('there is no snapshot', () => {
  test.each<[string, (root: string) => unknown]>([
    ['outside a repository', (root) => rmSync(join(root, '.git'), { recursive: true })],
    ['if the index is broken', (root) => writeFileSync(join(root, '.git/index'), 'junk')],
    ['if the configuration is broken', (root) => writeFileSync(join(root, '.git/config'), '[')],
    ['if the folder was deleted', (root) => rmSync(root, { recursive: true })],
    ['in a bare repository', async (root) => git(root, 'config', 'core.bare', 'true')],
  ])('%s', async (_, act) => {
    const root = await makeRepository()
    await act(root)
    expect(await tryToLook(root)).toBeUndefined()
  })

  test('inside .git', async () => {
    const root = await makeRepository()
    expect(await tryToLook(join(root, '.git/objects'))).toBeUndefined()
  })

  test('without git, even if the project contains a program of that name', async () => {
    const root = await makeRepository({ ...FILES, 'bin/git': sh('touch started') })
    for (const PATH of ['/nowhere', 'bin:./bin', '']) {
      expect(await takeSnapshot(root, { ...envOf(root), PATH })).toBeUndefined()
    }
    expect(readdirSync(root)).not.toContain('started')
  })

  test('from a git that never ends', async () => {
    const root = await makeRepository()
    const bin = makeProject({ git: sh('sleep 600 &', 'wait') })
    const env = { ...envOf(root), PATH: `${bin}:/usr/bin:/bin` }
    const begun = performance.now()
    expect(await takeSnapshot(root, env)).toBeUndefined()
    expect(performance.now() - begun).toBeLessThan(30_000)
  })
})

describe('a snapshot has no side effects', () => {
  test('it runs no filter of the repository', async () => {
    const root = await makeRepository({ ...FILES, '.gitattributes': '*.txt filter=odd\n' })
    const program = join(makeProject({ program: sh(`touch "${root}/started"`, 'cat') }), 'program')
    for (const key of ['core.fsmonitor', 'filter.odd.clean', 'filter.odd.process', 'core.pager']) {
      await git(root, 'config', key, program)
    }
    await git(root, 'config', 'filter.odd.required', 'true')
    writeFiles(root, { '.git/hooks/post-index-change': sh('touch started') })
    touch(join(root, 'a.txt'))
    writeFileSync(join(root, 'src/b.txt'), 'TWO\n')
    expect((await look(root)).files).toContain('src/b.txt')
    expect(readdirSync(root)).not.toContain('started')
  })

  test('it runs no filter of a submodule, whatever its folder', async () => {
    const [root, part] = [await makeRepository(), await makeRepository()]
    const started = makeProject()
    const program = join(makeProject({ program: sh(`touch "${started}/$1"`, 'cat') }), 'program')
    const allow = ['-c', 'protocol.file.allow=always']
    await git(root, ...allow, 'submodule', '--quiet', 'add', part, 'part')
    await git(root, ...allow, 'clone', '--quiet', part, 'clone')
    await git(root, 'add', '.')
    await git(root, 'commit', '-q', '-m', 'Parts')
    for (const folder of ['part', 'clone']) {
      const cwd = join(root, folder)
      writeFileSync(join(cwd, '.gitattributes'), '*.txt filter=odd\n')
      await git(cwd, 'config', 'core.fsmonitor', `${program} fsmonitor`)
      for (const kind of ['clean', 'process']) {
        await git(cwd, 'config', `filter.odd.${kind}`, `${program} ${folder}-${kind}`)
      }
      writeFileSync(join(cwd, 'a.txt'), 'TWO\n')
    }
    expect((await look(root)).files.toSorted()).toEqual(['clone', 'part'])
    expect(readdirSync(started)).toEqual([])
  })

  test('it fetches nothing in a partial clone', async () => {
    const root = await makeRepository()
    const before = await git(root, 'rev-parse', 'HEAD:src')
    for (const [key, value] of [
      ['protocol.ext.allow', 'always'],
      ['remote.origin.url', `ext::touch ${root}/started`],
      ['remote.origin.promisor', 'true'],
      ['extensions.partialClone', 'origin'],
      ['core.repositoryFormatVersion', '1'],
    ] as const) {
      await git(root, 'config', key, value)
    }
    rmSync(join(root, '.git/objects', before.slice(0, 2), before.slice(2)))
    rmSync(join(root, '.git/index'))
    await tryToLook(root)
    expect(readdirSync(root)).not.toContain('started')
  })

  test('it runs the filters of the user, which git needs', async () => {
    const home = makeProject({
      config: '[user]\nname = Me\nemail = me@x.org\n[filter "own"]\nclean = tr a-z A-Z\n',
    })
    const root = await makeRepository({ ...FILES, '.gitattributes': '*.txt filter=own\n' })
    const env = { ...envOf(root), GIT_CONFIG_GLOBAL: join(home, 'config') }
    const inGit = (...args: string[]) => Bun.spawnSync(['git', ...args], { cwd: root, env })
    inGit('add', '--renormalize', '.')
    inGit('commit', '-qm', 'Filtered')
    for (const foreign of [undefined, `touch ${root}/started; cat`]) {
      if (foreign !== undefined) await git(root, 'config', 'filter.own.clean', foreign)
      touch(join(root, 'a.txt'))
      expect((await takeSnapshot(root, env))?.prints).toEqual(new Map())
    }
    expect(readdirSync(root)).not.toContain('started')
  })

  test('it does not touch the index', async () => {
    const root = await makeRepository()
    writeFileSync(join(root, '.git/index.lock'), '')
    touch(join(root, 'a.txt'))
    const index = await Bun.file(join(root, '.git/index')).bytes()
    expect((await look(root)).files).toEqual([])
    unlinkSync(join(root, '.git/index.lock'))
    expect((await look(root)).files).toEqual([])
    expect(await Bun.file(join(root, '.git/index')).bytes()).toEqual(index)
  })
})

describe('between two snapshots', () => {
  test('nothing may have happened', async () => {
    const root = await makeDirty()
    expect(await between(root, () => undefined)).toEqual({ commits: 0, files: [], fileCount: 0 })
  })

  test('commits and changed files are counted', async () => {
    const root = await makeDirty()
    const act = async () => {
      await git(root, 'commit', '-q', '-m', 'Dirty', 'a.txt')
      writeFiles(root, { 'src/b.txt': 'edited' })
      await git(root, 'commit', '-q', '-m', 'Edited', 'src/b.txt')
      writeFiles(root, { 'new.txt': 'again', 'third.txt': 'third' })
    }
    expect(await between(root, act)).toEqual({
      head: expect.stringMatching(/^[0-9a-f]{40}$/),
      commits: 2,
      files: ['a.txt', 'new.txt', 'src/b.txt', 'third.txt'],
      fileCount: 4,
    })
  })

  test('the first commit is counted', async () => {
    const root = makeProject({ 'ü.txt': 'one' })
    await git(root, 'init', '-q')
    const changes = await between(root, async () => commitAll(root, 'Begin'))
    expect(changes).toMatchObject({ commits: 1, files: ['ü.txt'], fileCount: 1 })
  })

  test('history may be rewritten', async () => {
    const root = await makeRepository()
    writeFileSync(join(root, 'a.txt'), 'two')
    await commitAll(root, 'Second')
    const act = async () => {
      await git(root, 'reset', '-q', '--hard', 'HEAD~1')
      for (const name of ['x', 'y', 'z']) {
        writeFileSync(join(root, name), name)
        await commitAll(root, name)
      }
    }
    expect(await between(root, act)).toMatchObject({ commits: 3, files: ['a.txt', 'x', 'y', 'z'] })
  })

  test('going back is not a commit, but changes files', async () => {
    const root = await makeRepository()
    writeFileSync(join(root, 'a.txt'), 'two')
    await commitAll(root, 'Second')
    const changes = await between(root, async () => git(root, 'reset', '-q', '--hard', 'HEAD~1'))
    expect(changes).toMatchObject({ commits: 0, files: ['a.txt'] })
  })

  test('some of many files are listed, and all are counted', async () => {
    const root = await makeRepository()
    const names = Array.from({ length: 150 }, (_, index) => [`many/${index}.txt`, ''])
    const changes = await between(root, () => writeFiles(root, Object.fromEntries(names) as Files))
    expect([changes.files.length, changes.fileCount]).toEqual([100, 150])
  })
})

async function between(root: string, act: () => unknown) {
  const before = await look(root)
  await act()
  return changesBetween(root, before, await look(root), envOf(root))
}

async function makeDirty(): Promise<string> {
  const root = await makeRepository()
  writeFiles(root, { 'a.txt': 'dirty', 'new.txt': 'new', [odd('')]: 'odd', long: '' })
  symlinkSync('nowhere', join(root, 'link'))
  truncateSync(join(root, 'long'), 2_000_000)
  return root
}

function odd(root: string): string {
  return join(root, 'ä\n "odd".txt')
}

function touch(path: string): void {
  utimesSync(path, new Date(), new Date(Date.now() + 60_000))
}

function relink(path: string, to: string): void {
  unlinkSync(path)
  symlinkSync(to, path)
}

async function stageAndRemove(root: string): Promise<void> {
  writeFileSync(join(root, 'new.txt'), '')
  await git(root, 'add', 'new.txt')
  unlinkSync(join(root, 'new.txt'))
}
