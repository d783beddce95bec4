import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from '../../tests/support/forkhestra.ts'
import { makeProject, type Files } from '../../tests/support/project.ts'
import { commitAll, git } from '../../tests/support/tasks-stress.ts'
import { GitLooks } from './git-looks.ts'
import { lookAtGit } from './progress.ts'

/** Those of other tests in this process, whose runtime watches files, too. */
const strangers = new Set<string>()
beforeEach(() => {
  strangers.clear()
  for (const fd of inotifyDescriptors()) strangers.add(fd)
})

const FOLDERS = ['.', 'a', 'a/b', 'a/b/c', 'd', 'd/e', 'd/e f']
const NAMES = ['one', 'two', 'three.txt', '-four', 'ü*', 'x.log']

const FILES: Files = {
  ...Object.fromEntries(
    FOLDERS.flatMap((folder) => NAMES.slice(0, 5).map((name) => [`${folder}/${name}`, name])),
  ),
  '.gitignore': '*.log\nout/\nhome/\n',
  'a/x.log': 'x',
  'out/ignored': 'x',
  'out/deep/ignored': 'x',
}

const onLinux = test.skipIf(process.platform !== 'linux')

/** Nothing of the user's is read; what the tests change for all repositories is in `home`. */
function envOf(cwd: string): Record<string, string> {
  const home = join(cwd, 'home')
  return environment({ cwd, env: { HOME: home, XDG_CONFIG_HOME: home, GIT_CONFIG_NOSYSTEM: '1' } })
}

async function makeRepository(files = FILES): Promise<string> {
  const root = makeProject({ ...files, 'home/git/config': '[user]\nname = Me\nemail = me@x.org\n' })
  await git(root, 'init', '-q', '-b', 'main')
  await commitAll(root, 'Begin')
  return root
}

async function addParts(root: string): Promise<void> {
  const part = await makeRepository({ one: 'one', 'in/two': 'two' })
  const allow = ['-c', 'protocol.file.allow=always']
  await git(root, ...allow, 'submodule', '--quiet', 'add', part, 'd/part')
  await git(root, ...allow, 'clone', '-q', part, 'a/inner')
  await commitAll(join(root, 'a/inner'), 'Inner')
  await git(root, 'add', '.gitmodules', 'd/part')
  await git(root, 'commit', '-q', '-m', 'Part')
}

const open: GitLooks[] = []
afterEach(() => {
  for (const looks of open.splice(0)) looks.close()
})

/** Watches from the first look on, however small the repository is. */
function watch(root: string): GitLooks {
  const looks = new GitLooks(root, envOf(root), { files: 0, looks: 0, beginnings: Infinity })
  open.push(looks)
  return looks
}

async function act(root: string, script: string): Promise<void> {
  const child = Bun.spawn(['sh', '-c', script], {
    cwd: root,
    env: envOf(root),
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  })
  await child.exited
}

type Kind = 'quick' | 'full' | 'none'

/** Looks in both ways, which must see the same. */
async function compare(looks: GitLooks, root: string, history: readonly string[]): Promise<Kind> {
  const uncounted = [join(root, 'a/b')]
  const seen = await looks.look(uncounted)
  const full = await lookAtGit(root, envOf(root), uncounted)
  const inOrder = (look: typeof full) => look && { ...look, prints: [...look.prints] }
  expect({ history, look: inOrder(seen) }).toEqual({ history, look: inOrder(full) })
  return full === undefined ? 'none' : looks.isQuick ? 'quick' : 'full'
}

async function kindAfter(script: string, root: string, looks: GitLooks): Promise<Kind> {
  await act(root, script)
  return compare(looks, root, [script])
}

type Choose = <Item>(items: readonly Item[]) => Item

function chooser(seed: number): Choose {
  let state = seed
  return (items) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return items[Math.floor((state / 2 ** 32) * items.length)]!
  }
}

const ACTIONS: readonly ((file: string, other: string, folder: string, n: number) => string)[] = [
  (file, _, __, n) => `echo ${n} >> '${file}'`,
  (file, other, _, n) => `echo ${n} > '${file}'; echo ${n} > '${other}'`,
  (file) => `rm -f '${file}'`,
  (file) => `git checkout -q -- '${file}'`,
  (file, other) => `mv -f '${file}' '${other}'`,
  (file, other) => `git mv -f '${file}' '${other}'`,
  (file) => `touch '${file}'`,
  (file) => `[ -x '${file}' ] && chmod -x '${file}' || chmod +x '${file}'`,
  (file, other) => `rm -f '${file}'; ln -s '${other}' '${file}'`,
  (file, _, folder) => `mkdir -p '${folder}/new'; cp '${file}' '${folder}/new/copy'`,
  (_, __, folder) => `mkdir -p '${folder}/empty'`,
  (_, __, folder, n) => `echo ${n} > '${folder}/empty/file'`,
  (_, __, folder, n) => `echo ${n} > '${folder}/new/deep.txt'; rm -rf '${folder}/empty'`,
  (_, __, folder) => `[ '${folder}' = . ] || rm -rf '${folder}'`,
  (_, __, folder) => `[ '${folder}' = . ] || mv '${folder}' '${folder}.moved'`,
  (_, __, folder) => `mv '${folder}.moved' '${folder}'`,
  (file) => `rm -f '${file}'; mkdir -p '${file}'; echo in > '${file}/in'`,
  (file) => `rm -rf '${file}'; echo a file > '${file}'`,
  (_, __, folder) => `[ '${folder}' = . ] || { rm -rf '${folder}'; echo x > '${folder}'; }`,
  () => 'git checkout -q -f .',
  () => 'git add -A; git commit -q -m all',
  (file, _, __, n) => `echo ${n} > '${file}'; git commit -q -m one -- '${file}'`,
  (file) => `git add -f '${file}'`,
  (file) => `git rm -q --cached '${file}'`,
  (file) => `git reset -q -- '${file}'`,
  () => 'git reset -q --hard',
  () => 'git reset -q --hard HEAD~1',
  () => 'git reset -q --soft HEAD~1',
  () => 'git reset -q HEAD~1',
  () => 'git stash -q',
  () => 'git stash -q -u',
  () => 'git stash pop -q',
  (_, __, ___, n) => `git checkout -q -b branch${n}`,
  () => 'git checkout -q -f main',
  () => 'git checkout -q -f --detach HEAD~1',
  () => 'git merge -q --no-edit $(git branch --format="%(refname:short)" | tail -1)',
  () => 'git status',
  () => 'git pack-refs --all',
  () => 'git clean -q -f -d',
  (file) => `git update-index --force-remove '${file}'`,
  () => 'rm -rf out; mkdir out; echo more > out/ignored',
  (_, __, folder, n) =>
    `echo ${n} > '${folder}/x.log'; mkdir -p '${folder}/out'; echo > '${folder}/out/x'`,
  (_, __, folder) => `git add -f '${folder}/out'; git commit -q -m ignored`,
  (_, __, folder, n) => `echo ${n} > '${folder}/out/x'`,
  () => 'echo "two" >> .gitignore',
  () => 'echo "one" >> .git/info/exclude',
  () => 'echo "*.txt" > a/.gitignore; echo > a/b/new.txt',
  () =>
    'git config core.fileMode $(git config core.fileMode | grep -q true && echo false || echo true)',
  () => 'mkdir -p home/git; echo "-four" > home/git/ignore',
  (_, __, ___, n) => `echo ${n} >> d/part/one; echo ${n} > a/inner/new`,
  () => 'for in in d/part a/inner; do git -C $in add -A; git -C $in commit -q -m in; done',
  () => 'git submodule -q update --force',
  (_, __, folder) => `[ '${folder}' = . ] || git init -q '${folder}/repository'`,
  (_, __, folder, n) => `echo ${n} > '${folder}/repository/file'`,
  (_, __, folder) => `[ '${folder}' = . ] || { git init -q '${folder}'; rm -rf '${folder}/.git'; }`,
  () => 'printf odd > "$(printf "a/\\377\\376")"',
  () => 'printf other > "$(printf "a/\\377\\376")"; rm -f d/one',
  () => 'for i in $(seq 60); do echo $i > many$i; done',
  () => 'rm -f many*',
  () => 'true',
]

const SEEDS = (process.env['SEEDS'] ?? '1 2').split(' ').map(Number)
const STEPS = 100

onLinux.each(SEEDS)(
  'a quick look sees what a full one sees, whatever happens in between (%d)',
  async (seed) => {
    const root = await makeRepository()
    await addParts(root)
    let looks = watch(root)
    const choose = chooser(seed)
    const history: string[] = []
    const kinds: Kind[] = [await compare(looks, root, history)]
    for (let n = 0; n < STEPS; n++) {
      const path = () => `${choose(FOLDERS)}/${choose(NAMES)}`
      history.push(choose(ACTIONS)(path(), path(), choose(FOLDERS), n))
      await act(root, history.at(-1)!)
      kinds.push(await compare(looks, root, history))
      if (kinds.at(-1) === 'none') looks = watch(root)
    }
    // Otherwise little would have been compared.
    expect(kinds.filter((kind) => kind === 'quick').length).toBeGreaterThan(STEPS / 4)
  },
  300_000,
)

describe('in a repository that is watched', () => {
  onLinux.each<[string, string]>([
    ['nothing happened', 'true'],
    ['a file is edited', 'echo more >> a/one'],
    ['three are edited and committed', 'echo x | tee a/one d/two > a/b/two; git commit -qam x'],
    ['commits were taken back', 'git commit -qm x --allow-empty; git reset -q --hard HEAD~1'],
    ['a file is only out of the index', 'git rm -q --cached a/one'],
    ['git has looked at the files itself', 'touch a/one; git status'],
    ['a folder is made and filled', 'mkdir -p new/deep; echo x > new/deep/file'],
    ['a folder is gone', 'rm -r a/b'],
    ['what is ignored is made anew', 'rm -r out; mkdir -p out/deep; echo x > out/deep/ignored'],
    ['more is ignored', 'mkdir -p d/out/deep; echo x > d/out/deep/x; echo x > d/x.log'],
    ['many files of one folder are edited', 'for i in $(seq 99); do echo $i > a/$i; done'],
    ['there is an odd name', 'echo x > "$(printf "a/\\377")"'],
    ['HEAD is packed', 'echo x > a/one; git commit -qam x; git pack-refs --all'],
  ])('a look is quick where %s', async (_, script) => {
    const root = await makeRepository()
    const looks = watch(root)
    await looks.look([])
    expect(await kindAfter(script, root, looks)).toBe('quick')
    expect(await kindAfter('echo again >> a/two', root, looks)).toBe('quick')
  })

  onLinux.each<[string, string]>([
    ['a folder has another name', 'mv a new'],
    ['other files are ignored', 'echo new >> .gitignore'],
    ['other files are ignored here', 'echo new >> .git/info/exclude'],
    ['other files are ignored everywhere', 'echo new >> home/git/ignore'],
    ['the configuration is another one', 'git config core.fileMode false'],
    ['that of the user is another one', 'git config --global core.fileMode false'],
    ['a folder becomes a repository', 'git init -q d'],
    ['very many files are made', 'for d in a a/b d d/e; do seq -f $d/%g 6000 | xargs touch; done'],
    ['very many folders are made', 'seq -f new/%g 300 | xargs mkdir -p; touch new/9/file'],
    ['files are edited in many folders', 'for i in $(seq 50); do mkdir m$i; echo > m$i/x; done'],
  ])('all is looked at where %s, and the next look is quick', async (_, script) => {
    const root = await makeRepository()
    const looks = watch(root)
    await looks.look([])
    expect(await kindAfter(script, root, looks)).toBe('full')
    await act(root, 'git add -A; git commit -qm x')
    await looks.look([])
    expect(await kindAfter('echo new > d/e/new', root, looks)).toBe('quick')
  })

  onLinux('looks are quick in a worktree, and from a folder inside of it', async () => {
    const root = await makeRepository()
    const tree = join(makeProject(), 'tree')
    await git(root, 'worktree', 'add', '-q', '-b', 'other', tree)
    const cwd = join(tree, 'a/b')
    const looks = new GitLooks(cwd, envOf(root), { files: 0, looks: 0, beginnings: 3 })
    open.push(looks)
    await looks.look([])
    for (const script of ['echo x > one; git commit -qam x', 'echo x > ../../d/one', 'true']) {
      await act(root, `cd '${cwd}'; ${script}`)
      expect(await looks.look([])).toEqual(await lookAtGit(cwd, envOf(root)))
      expect(looks.isQuick).toBe(true)
    }
    expect((await looks.look([]))?.prints.size).toBe(1)
  })

  onLinux.each(['out/ignored', 'a/x.log'])(
    'an ignored file that git has to know is looked at from then on (%s)',
    async (path) => {
      const root = await makeRepository()
      const looks = watch(root)
      await looks.look([])
      await kindAfter(`git add -f ${path}; git commit -qm x`, root, looks)
      await kindAfter(`echo more > ${path}`, root, looks)
      await kindAfter(`echo again > ${path}`, root, looks)
    },
  )

  onLinux('what nobody noticed is found when it counts, and ends the watch', async () => {
    const root = await makeRepository()
    // A name of the same file where nobody watches.
    await act(root, 'mkdir home/other; ln a/one home/other/one')
    const looks = watch(root)
    const before = await looks.look([])
    await act(root, 'echo more > home/other/one')
    const quick = (await looks.look([]))!
    expect([looks.isQuick, quick]).toEqual([true, before!])
    expect(await looks.confirm(quick, [])).toEqual(await lookAtGit(root, envOf(root)))
    expect(await kindAfter('echo more > a/two', root, looks)).toBe('full')
    expect(queues()).toBe(0)
  })
})

describe('nobody watches', () => {
  onLinux('in small repositories, in short runs, and where variables lead elsewhere', async () => {
    const root = await makeRepository()
    const env = envOf(root)
    for (const [variables, limits] of [
      [{}, { files: 1000, looks: 0, beginnings: 3 }],
      [{}, { files: 0, looks: 2, beginnings: 3 }],
      [{ GIT_DIR: join(root, '.git') }, { files: 0, looks: 0, beginnings: 3 }],
    ] as const) {
      const looks = new GitLooks(root, { ...env, ...variables }, limits)
      await looks.look([])
      expect([await looks.look([]), looks.isQuick, queues()]).toEqual([
        await lookAtGit(root, env),
        false,
        0,
      ])
    }
  })

  onLinux('where a folder has a name that is no text', async () => {
    const root = await makeRepository()
    const looks = watch(root)
    await act(root, 'mkdir "$(printf "a/\\377")"; echo x > "$(printf "a/\\377/x")"')
    expect(await kindAfter('true', root, looks)).toBe('full')
    expect(await kindAfter('echo y > "$(printf "a/\\377/x")"', root, looks)).toBe('full')
    expect(queues()).toBe(0)
  })

  onLinux('any more where it is of no use', async () => {
    const root = await makeRepository()
    const looks = new GitLooks(root, envOf(root), { files: 0, looks: 0, beginnings: 3 })
    open.push(looks)
    for (let n = 0; n < 5; n++) await kindAfter(`mv a${n || ''} a${n + 1}`, root, looks)
    expect(await kindAfter('true', root, looks)).toBe('full')
    expect(queues()).toBe(0)
  })

  onLinux('once it is closed', async () => {
    const root = await makeRepository()
    const looks = watch(root)
    await looks.look([])
    expect(queues()).toBe(1)
    looks.close()
    expect(queues()).toBe(0)
  })
})

/** Of this process. */
function queues(): number {
  return inotifyDescriptors().filter((fd) => !strangers.has(fd)).length
}

function inotifyDescriptors(): string[] {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === 'anon_inode:inotify'
    } catch {
      return false
    }
  })
}
