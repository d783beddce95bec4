import { describe, expect, test } from 'bun:test'
import {
  linkSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { processIdentity } from '../../src/base/linux/process-identity.ts'
import { FORGE_TASKS } from '../support/forge-tasks.ts'
import { makeProject } from '../support/project.ts'
import { commitAll, forgeTasks, git, makeClone, mustTasks } from '../support/tasks-stress.ts'

const TASK =
  '---\nid: TASK-001\ntitle: First\nstatus: To Do\ncreatedAt: 2026-01-20T10:00:00.000Z\n---\n'
const READERS = ['list --ready', 'view 1', 'board --plain']

const EARLIER = new Date(Date.now() - 10 * 60 * 60 * 1000).toISOString()

/** A home folder next to a project with these files, which came with a repository or an archive. */
async function download(
  files: Readonly<Record<string, string>>,
  from: 'git' | 'an archive',
  links: Readonly<Record<string, string>> = {},
): Promise<{ root: string; home: string }> {
  const folder = makeProject({ 'home/.profile': 'mine\n', 'origin/README': 'A project.\n' })
  const origin = join(folder, 'origin')
  const root = join(folder, 'clone')
  for (const [name, text] of Object.entries(files)) write(join(origin, name), text)
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(origin, name)), { recursive: true })
    symlinkSync(target, join(origin, name))
  }
  if (from === 'git') {
    await git(origin, 'init', '-q', '-b', 'main')
    await commitAll(origin, 'Begin')
    await git(folder, 'clone', '-q', 'origin', 'clone')
  } else renameSync(origin, root)
  return { root, home: join(folder, 'home') }
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

function stateWith(fields: object): string {
  return JSON.stringify({ version: 1, numbers: {}, claims: {}, attempts: {}, ...fields })
}

/** Every path and content of a folder. */
async function contentOf(folder: string): Promise<string> {
  return Bun.$`cd ${folder} && find . -not -name . -printf '%p %y %l %T@\n' | sort && find . -type f -exec sha256sum {} +`.text()
}

describe.each(['git', 'an archive'] as const)('a project that came from %s', (from) => {
  const MOVES = [
    ['a file beside its state', 'forge/tasks/.local/payload', '../home/.profile'],
    ['its temporary name', 'forge/tasks/.local/.unfinished-abcdefghjkmn', '../home/.profile'],
    [
      'a name that goes up',
      'forge/tasks/.local/.unfinished-abcdefghjkmn',
      'forge/tasks/../../../home/.profile',
    ],
    ['a task', 'forge/tasks/TASK-001 - First.md', '../home/TASK-001 - First.md'],
  ] as const

  test.each(MOVES)('moves nothing out of it: %s', async (_, source, target) => {
    const folder = makeProject({ 'home/.profile': 'mine\n' })
    const root = join(folder, 'clone')
    for (const spelled of ['relative', 'absolute']) {
      const to = spelled === 'absolute' ? `${root}/${target}` : target
      const path = spelled === 'absolute' ? `${root}/${source}` : source
      await Bun.$`rm -rf ${root} ${folder}/origin`
      const origin = join(folder, 'origin')
      write(join(origin, 'forge/tasks/TASK-001 - First.md'), TASK)
      write(join(origin, source), TASK)
      write(
        join(origin, 'forge/tasks/.local/state.json'),
        stateWith({
          moves: [
            { from: path, to },
            { from: path, to },
          ],
        }),
      )
      if (from === 'git') {
        await git(origin, 'init', '-q', '-b', 'main')
        await git(origin, 'add', '-Af')
        await commitAll(origin, 'Begin')
        await git(folder, 'clone', '-q', 'origin', 'clone')
      } else renameSync(origin, root)
      const before = await contentOf(join(folder, 'home'))
      await forgeTasks(root, ['list'])
      await forgeTasks(root, ['create', 'New'])
      expect(await contentOf(join(folder, 'home'))).toBe(before)
      expect(existsSync(join(root, 'forge/tasks/TASK-001 - First.md'))).toBe(true)
    }
  })

  const LINKS: readonly (readonly [
    string,
    Readonly<Record<string, string>>,
    Readonly<Record<string, string>>,
  ])[] = [
    ['the folder of tasks', {}, { 'forge/tasks': '../../home' }],
    ['the folder around it', {}, { forge: '../home' }],
    ['its local folder', {}, { 'forge/tasks/.local': '../../../home' }],
    ['its lock', {}, { 'forge/tasks/.local/lock': '../../../../home/new' }],
    ['its list of ignored files', {}, { 'forge/tasks/.local/.gitignore': '../../../../home/new' }],
    ['its state', {}, { 'forge/tasks/.local/state.json': '../../../../home/state.json' }],
    ['its index', {}, { 'forge/tasks/.local/index': '/dev/zero' }],
    [
      'the file of a task whose claim is dead',
      {
        'forge/tasks/.local/state.json': stateWith({
          claims: { 'TASK-002': { owner: 'x', at: EARLIER, until: EARLIER, root: 'ROOT' } },
        }),
      },
      { 'forge/tasks/TASK-002 - Second.md': '../../../home/task.md' },
    ],
  ]
  test.each(LINKS)(
    'reading it changes nothing outside: a link in place of %s',
    async (_, files, links) => {
      const isFolder = 'forge' in links || 'forge/tasks' in links
      const tasks = isFolder ? {} : { 'forge/tasks/TASK-001 - First.md': TASK }
      const { root, home } = await download({ ...tasks, ...files }, from, links)
      write(join(home, 'tasks/TASK-001 - First.md'), TASK)
      write(join(home, 'TASK-001 - First.md'), TASK)
      write(join(home, 'task.md'), TASK.replace('001', '002').replace('To Do', 'In Progress'))
      const state = stateWith({
        claims: { 'TASK-001': { owner: 'x', at: EARLIER, until: EARLIER, root } },
      })
      write(join(home, 'state.json'), state)
      const local = join(root, 'forge/tasks/.local/state.json')
      if (!isFolder && existsSync(local)) {
        const text = readFileSync(local, 'utf8').replace('ROOT', root)
        if (text.includes(root) && !('forge/tasks/.local/state.json' in links))
          writeFileSync(local, text)
      }
      const before = await contentOf(home)
      for (const reader of READERS) await forgeTasks(root, reader.split(' '))
      expect(await contentOf(home)).toBe(before)
    },
  )
})

test('a hard link in place of its list of ignored files is not written through', async () => {
  const folder = makeProject({ 'home/empty': '', 'clone/forge/tasks/.local/x': '' })
  const root = join(folder, 'clone')
  linkSync(join(folder, 'home/empty'), join(root, 'forge/tasks/.local/.gitignore'))
  await mustTasks(root, ['create', 'First'])
  expect(readFileSync(join(folder, 'home/empty'), 'utf8')).toBe('')
  expect(readFileSync(join(root, 'forge/tasks/.local/.gitignore'), 'utf8')).toBe('*\n')
})

describe('a tracked link that leads out of the repository', () => {
  test.each([
    ['to a folder', { 'forge/tasks': '../../home' }, 'forge/tasks'],
    [
      'to a task',
      { 'forge/tasks/TASK-001 - First.md': '../../../home/TASK-001 - First.md' },
      'forge/tasks/TASK-001 - First.md',
    ],
    ['to a folder of git', { 'forge/tasks': '../.git/hooks' }, 'forge/tasks'],
  ])('%s is not followed when writing', async (_, links, link) => {
    const { root, home } = await download({}, 'git', links)
    write(join(home, 'TASK-001 - First.md'), TASK)
    write(join(root, '.git/hooks/TASK-001 - First.md'), TASK)
    const before = await contentOf(home)
    const { code, stderr } = await forgeTasks(root, ['edit', '1', '--status', 'blocked'])
    expect(code).toBe(1)
    expect(stderr).toContain(link)
    expect(stderr).toContain('symbolic link')
    expect(await contentOf(home)).toBe(before)
  })

  test('is followed if the user made it', async () => {
    const { root, home } = await download({}, 'git')
    mkdirSync(join(root, 'forge'))
    symlinkSync('../../home', join(root, 'forge/tasks'))
    expect(await mustTasks(root, ['create', 'New', '--plain'])).toBe('TASK-001')
    expect(existsSync(join(home, 'TASK-001 - New.md'))).toBe(true)
  })

  test('is followed if it stays inside the repository', async () => {
    const { root } = await download(
      { 'all/tasks/TASK-001 - First.md': TASK, 'web/forge/.keep': '' },
      'git',
      {
        'web/forge/tasks': '../../all/tasks',
      },
    )
    await mustTasks(join(root, 'web'), ['edit', '1', '--status', 'blocked'])
    expect(readFileSync(join(root, 'all/tasks/TASK-001 - First.md'), 'utf8')).toContain('Blocked')
  })
})

describe('local state', () => {
  test('is not writable by other users, whatever the umask', async () => {
    const root = makeProject({ README: 'A project.\n' })
    const program = ['sh', '-c', 'umask 000; exec "$0" "$@"', FORGE_TASKS]
    await mustTasks(root, ['create', 'First'], { program })
    expect(statSync(join(root, 'forge/tasks/.local')).mode & 0o002).toBe(0)
  })

  test('of a project that becomes a repository is kept', async () => {
    const root = makeProject({ README: 'A project.\n' })
    await mustTasks(root, ['create', 'First'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await git(root, 'init', '-q', '-b', 'main')
    await commitAll(root, 'Begin')
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
    await mustTasks(root, ['create', 'Second'])
    expect(existsSync(join(root, '.git/forge-tasks/state.json'))).toBe(true)
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
  })

  test('that is committed is not trusted', async () => {
    const claim = { owner: 'x', at: EARLIER, root: '/nowhere' }
    const state = stateWith({ claims: { 'TASK-001': claim } })
    const { root } = await download(
      { 'forge/tasks/TASK-001 - First.md': TASK, 'forge/tasks/.local/state.json': state },
      'git',
    )
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  test('that is committed in a submodule, or next to a nested repository, is not trusted', async () => {
    const claim = { owner: 'x', at: EARLIER, root: '/nowhere' }
    const state = stateWith({ claims: { 'TASK-001': claim } })
    const { root: module } = await download(
      { 'tasks/TASK-001 - First.md': TASK, 'tasks/.local/state.json': state },
      'git',
    )
    await Bun.$`git init -q --bare ${join(module, 'tasks/.local/bare')} && mv ${module}/tasks/.local/bare/* ${module}/tasks/.local`.quiet()
    const root = await makeClone()
    await git(
      root,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      'add',
      '-q',
      join(module, '../origin'),
      'forge',
    )
    await Bun.$`cp -r ${module}/tasks/.local ${root}/forge/tasks`.quiet()
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
  })

  const FAR = new Date(Date.now() + 80_000 * 60 * 60 * 1000).toISOString()
  const HELD = { owner: 'x', at: EARLIER, until: FAR, leaseMs: 80_000 * 60 * 60 * 1000 }

  test.each(['forge/tasks/.local', '.git/forge-tasks'])(
    'that came with an archive holds no task: %s',
    async (folder) => {
      for (const place of [undefined, '1-1']) {
        const root = folder.startsWith('.git') ? await makeClone() : makeProject({})
        write(join(root, 'forge/tasks/TASK-001 - First.md'), TASK)
        for (const claim of [
          { ...HELD, root: '/nowhere' },
          { ...HELD, root },
          { ...HELD, root, run: { id: 'r', step: '1', iteration: '1', process: 'other/1/1' } },
        ]) {
          const claims = { 'TASK-001': claim }
          write(join(root, folder, 'state.json'), stateWith({ claims, place }))
          expect(await mustTasks(root, ['list', '--ready', '--plain'])).toContain('TASK-001')
          expect(await forgeTasks(root, ['next', '--plain'])).toMatchObject({ code: 0 })
        }
        expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
      }
    },
  )

  test('of an older version, which has no place, keeps the claim of a living run', async () => {
    const root = await makeClone()
    await mustTasks(root, ['create', 'First'])
    const env = { FORKHESTRA_RUN_ID: 'r', FORKHESTRA_RUN_PROCESS: processIdentity(process.pid)! }
    await mustTasks(root, ['claim', '1'], { env })
    const path = join(root, '.git/forge-tasks/state.json')
    const { place: _, ...state } = JSON.parse(readFileSync(path, 'utf8')) as { place: string }
    writeFileSync(path, JSON.stringify(state))
    expect(await forgeTasks(root, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
    expect(await mustTasks(root, ['create', 'Second', '--plain'])).toBe('TASK-002')
  })

  test('of a moved project keeps its claims; a copy loses only the claims', async () => {
    const root = await makeClone()
    await mustTasks(root, ['create', 'First'])
    await mustTasks(root, ['create', 'Second'])
    await mustTasks(root, ['claim', '1', '--as', 'a'])
    await mustTasks(root, ['delete', '2'])
    const copy = `${root}-copy`
    await Bun.$`cp -r ${root} ${copy}`
    renameSync(root, `${root}-moved`)
    expect(await forgeTasks(`${root}-moved`, ['claim', '1', '--as', 'b'])).toMatchObject({
      code: 3,
    })
    expect(await forgeTasks(copy, ['claim', '1', '--as', 'b'])).toMatchObject({ code: 0 })
    expect(await mustTasks(copy, ['create', 'Third', '--plain'])).toBe('TASK-003')
  })
})
