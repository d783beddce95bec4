import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { TaskProject, taskText } from '../support/forge-tasks.ts'
import { writeFiles } from '../support/project.ts'
import { openBoard, Pty } from '../support/pty.ts'

const ROOT = join(import.meta.dir, '../..')
const PROGRAM = join(ROOT, 'bin/forge-tasks')
const CRITERIA = '## Acceptance Criteria\n\n- [x] #1 It works\n- [ ] #2 It is fast\n'

function task(id: number, title: string, status: string, ...lines: string[]): string {
  return taskText([`id: TASK-00${id}`, `title: ${title}`, `status: ${status}`, ...lines], CRITERIA)
}

/** Three tasks: one is ready, one waits, one is in progress. */
function makeProject(): TaskProject {
  return new TaskProject({
    'TASK-001 - Login.md': task(1, 'Login', 'To Do', 'priority: high', 'labels: [web]'),
    'TASK-002 - Manual.md': task(2, 'Manual', 'To Do', 'dependencies: [TASK-001]'),
    'TASK-003 - Search.md': task(3, 'Search', 'In Progress', 'assignee: bob'),
  })
}

/** The headings of the columns are shown when the board is. */
const HEADINGS = /To Do 2 +In Progress 1 +Blocked 0 +Done 0/

/** The last output of a program may arrive after it has ended. */
async function expectRestored(board: Pty): Promise<void> {
  await board.until(() => board.leftBehind().length === 0)
}

async function quit(board: Pty): Promise<void> {
  board.type('q')
  expect(await board.exited).toBe(0)
  await expectRestored(board)
}

describe('cards', () => {
  test('show id, priority, title, assignee and whether they are ready', async () => {
    const project = makeProject()
    await project.must('claim', '3', '--as', 'agent-7')
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    const [, , ...cards] = board.lines
    expect(cards.slice(0, 6)).toEqual([
      '>TASK-001 high            TASK-003',
      '>Login                    Search',
      '>ready                    held by agent-7',
      ' TASK-002',
      ' Manual',
      '',
    ])
    await quit(board)
  })

  test('move to the next column, and the file with them', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('j>')
    await board.shows('TASK-002 is In Progress.')
    expect(board.text).toMatch(/To Do 1 +In Progress 2/)
    expect(project.read('TASK-002 - Manual.md')).toContain('status: In Progress')
    board.type('H')
    await board.shows('TASK-002 is To Do.')
    board.type('b')
    await board.shows('TASK-002 is Blocked.')
    board.type('\u001b[1;2C')
    await board.shows('TASK-002 is In Progress.')
    await quit(board)
  })

  test('are taken from their owner only when that is confirmed', async () => {
    const project = makeProject()
    await project.must('claim', '3', '--as', 'agent-7')
    const before = project.read('TASK-003 - Search.md')
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('l<')
    await board.shows('TASK-003 is held by agent-7. Set To Do anyway? y yes, n no')
    board.type('n')
    await board.shows('TASK-003 stays with agent-7.')
    expect(project.read('TASK-003 - Search.md')).toBe(before)
    board.type('<y')
    await board.shows('TASK-003 is To Do. It was held by agent-7, who may still be working on it.')
    await quit(board)
  })

  test('are restored by u, with their owner', async () => {
    const project = makeProject()
    await project.must('claim', '3', '--as', 'agent-7')
    const before = project.read('TASK-003 - Search.md')
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('phu')
    await board.shows('Undid the last change to TASK-001.')
    board.type('lby')
    await board.shows('TASK-003 is Blocked.')
    board.type('u')
    await board.shows('Undid the last change to TASK-003.')
    expect(project.read('TASK-003 - Search.md')).toBe(before)
    expect(await project.run(['claim', '3', '--as', 'zed'])).toMatchObject({ code: 3 })
    board.type('u')
    await board.shows('Nothing to undo.')
    board.type('nNew\r')
    await board.shows('Created TASK-004.')
    board.type('u')
    await board.shows('Undid the last change to TASK-004.')
    expect(project.names()).toHaveLength(3)
    await quit(board)
  })

  test('that have changed since are not undone', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('>')
    await board.shows('TASK-001 is In Progress.')
    await project.must('edit', '1', '--append-notes', 'From elsewhere')
    board.type('u')
    await board.shows('TASK-001 has changed since; nothing was undone.')
    expect(project.read('TASK-001 - Login.md')).toContain('From elsewhere')
    expect(project.read('TASK-001 - Login.md')).toContain('status: In Progress')
    await quit(board)
  })

  test('show whose claim a move has ended', async () => {
    const project = makeProject()
    await project.must('claim', '3', '--as', 'agent-7')
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('lsby')
    await board.shows(
      'TASK-003 is Blocked. It was held by agent-7, who may still be working on it.',
    )
    await quit(board)
  })

  test('stay where they are when the move is refused', async () => {
    const project = makeProject()
    const before = project.read('TASK-001 - Login.md')
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('sd')
    await board.shows('TASK-001 has open acceptance criteria: #2 It is fast')
    expect(board.text).toMatch(HEADINGS)
    expect(project.read('TASK-001 - Login.md')).toBe(before)
    await quit(board)
  })

  test('are opened, ticked and then done', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('\r')
    await board.shows('[ ] #2 It is fast')
    board.type('\t\tx')
    await board.shows('[x] #2 It is fast')
    expect(project.read('TASK-001 - Login.md')).toContain('- [x] #2 It is fast')
    board.type('sd')
    await board.shows('status: Done')
    board.type('\u001b')
    await board.shows(/To Do 1 .*Done 1/)
    await quit(board)
  })

  test('can get another priority and assignee', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('pl')
    await board.shows('TASK-001 has the priority low.')
    board.type('aeve\u001b[D\u001b[3~a\r')
    await board.shows('@eva')
    expect(project.read('TASK-001 - Login.md')).toContain(
      'priority: low\nlabels: [web]\nassignee: eva',
    )
    await quit(board)
  })

  test('are created, by typing or pasting a title', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('n\u001b[200~Two lines\nof q and > \u001b[201~!\r')
    await board.shows('Created TASK-004.')
    expect(board.text).toContain('>Two lines of q and > !')
    expect(project.names()).toHaveLength(4)
    await quit(board)
  })

  test('are filtered by words, and by what is ready', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('/BOB')
    await board.shows(/To Do 0 +In Progress 1/)
    board.type('\r')
    await board.shows('filter: BOB')
    board.type('\u001b')
    await board.shows(HEADINGS)
    board.type('r')
    await board.shows(/To Do 1 +In Progress 0/)
    board.type('r')
    await board.shows(HEADINGS)
    await quit(board)
  })
})

describe('others', () => {
  test('change tasks while the board is open, and the selection stays on its task', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('j')
    await board.shows('>TASK-002')
    await project.must('create', 'Urgent', '-p', 'high')
    await board.shows(/To Do 3/)
    expect(board.text).toContain('>TASK-002')
    await project.must('edit', '2', '--status', 'blocked')
    await board.shows(/Blocked 1/)
    expect(board.text).toContain('>TASK-002')
    await quit(board)
  })

  test('delete the task that is open', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.type('\r')
    await board.shows('priority: high')
    rmSync(join(project.folder, 'TASK-001 - Login.md'))
    await board.shows('No task TASK-001.')
    expect(board.text).toMatch(/To Do 1 +In Progress 1/)
    await quit(board)
  })

  test('break files, which are reported', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    project.write('TASK-009 - Broken.md', 'no frontmatter')
    await board.shows('1 broken file: TASK-009 - Broken.md:1')
    await quit(board)
  })

  test('write titles that would take over the terminal', async () => {
    const evil = '"\\e]0;owned\\a\\e[2J\\e[31m \\x9b2J \\u202e漢字 👩‍👩‍👧 end"'
    const project = new TaskProject({
      'TASK-001 - Evil.md': task(1, evil, 'To Do', 'assignee: "\\e[5m"', 'labels: ["\\a"]'),
      'TASK-002 - Good.md': task(2, 'Good', 'In Progress'),
    })
    await using board = openBoard({ cwd: project.root })
    await board.shows('?]0;owned')
    board.type('\r')
    await board.shows('labels: ?')
    board.type('q')
    await board.shows('TASK-002')
    const bytes = Buffer.from(board.output, 'latin1').toString()
    // oxlint-disable-next-line no-control-regex
    expect(bytes).not.toMatch(/\u001b\]|\u0007|\u001b\[5m|\u009b|\u202e/)
    const columns = board.lines.slice(2, 4).map((line) => line.slice(25).trim())
    expect(columns).toEqual(['TASK-002', expect.stringContaining('Good')])
    await quit(board)
  })
})

describe('the terminal', () => {
  test('may change its size at any time, down to nothing', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root })
    await board.shows(HEADINGS)
    board.resize(20, 5)
    await board.until(() => board.lines[0] === ' To Do 2          >')
    expect(board.lines).toEqual([
      ' To Do 2          >',
      '>TASK-001 * Login',
      ' TASK-002   Manual',
      '',
      ' ? help  q quit  En…',
    ])
    board.type('l')
    await board.shows('<In Progress 1    >')
    for (const [columns, rows] of [
      [1, 1],
      [2, 3],
      [3, 2],
      [300, 2],
      [1, 100],
    ] as const) {
      board.resize(columns, rows)
      board.type('\r\u001b?\u001b/a\u001b')
    }
    board.resize(120, 30)
    await board.shows(HEADINGS)
    await quit(board)
  })

  test.each([
    ['Ctrl-C', (board: Pty) => board.type('\u0003'), 0],
    ['SIGINT', (board: Pty) => board.signal('SIGINT'), 130],
    ['SIGTERM', (board: Pty) => board.signal('SIGTERM'), 143],
    ['SIGHUP', (board: Pty) => board.signal('SIGHUP'), 129],
    ['SIGQUIT', (board: Pty) => board.signal('SIGQUIT'), 131],
  ] as const)('is given back after %s', async (_, end, code) => {
    await using board = openBoard({ cwd: makeProject().root })
    await board.shows(HEADINGS)
    expect(board.leftBehind()).not.toEqual([])
    board.type('n')
    await board.shows('Title of the new task')
    end(board)
    expect(await board.exited).toBe(code)
    await expectRestored(board)
  })

  test('has the same settings afterwards, also after an editor', async () => {
    const project = makeProject()
    const lines = ['stty -a >before', `'${PROGRAM}' board`, 'stty -a >after']
    writeFiles(project.root, { session: `#!/bin/sh\n${lines.join('\n')}\n` })
    const env = { EDITOR: 'true' }
    await using board = new Pty(['./session'], { cwd: project.root, env })
    await board.shows(HEADINGS)
    board.type('e')
    await board.until(() => board.output.split('\u001b[?1049h').length === 3)
    await board.shows(HEADINGS)
    board.type('q')
    expect(await board.exited).toBe(0)
    const [before, after] = ['before', 'after'].map((name) => {
      return readFileSync(join(project.root, name), 'utf8')
    })
    expect(before).toContain('icanon')
    expect(after).toBe(before)
  })

  test('is restored after a bug, and the error is shown', async () => {
    const project = makeProject()
    const script = [
      `import { BoardSession } from ${JSON.stringify(join(ROOT, 'src/views/board/session.ts'))}`,
      `const load = () => ({ cards: [], broken: [] })`,
      `const create = () => { throw new TypeError('a mistake') }`,
      `const store = { name: 'x', load, create }`,
      `await new BoardSession({ store, editor: undefined, hasColour: true }).run()`,
    ]
    writeFiles(project.root, { 'broken.ts': script.join('\n') })
    await using board = new Pty([process.execPath, 'broken.ts'], { cwd: project.root })
    await board.shows('To Do 0')
    board.type('nx\r')
    expect(await board.exited).toBe(1)
    await board.shows('TypeError: a mistake')
    await expectRestored(board)
  })

  test('belongs to the shell after Ctrl-Z and to the board again after fg', async () => {
    const project = makeProject()
    await using shell = new Pty(['sh', '-im'], { cwd: project.root, env: { PS1: 'prompt> ' } })
    await shell.shows('prompt>')
    shell.type(`'${PROGRAM}' board\n`)
    await shell.shows(HEADINGS)
    shell.type('\u001a')
    await shell.shows('prompt>')
    expect(shell.leftBehind()).toEqual([])
    shell.type('fg\n')
    await shell.shows(HEADINGS)
    shell.type('j')
    await shell.shows('>TASK-002')
    shell.type('q')
    await expectRestored(shell)
    shell.type('exit\n')
    await shell.exited
  })

  test('is set up again after SIGSTOP', async () => {
    const project = makeProject()
    const env = { PS1: 'prompt> ' }
    await using shell = new Pty(['sh', '-im'], { cwd: project.root, env })
    await shell.shows('prompt>')
    shell.type(`sh -c 'echo $$ >pid; exec "${PROGRAM}" board'\n`)
    await shell.shows(HEADINGS)
    process.kill(Number(readFileSync(join(project.root, 'pid'), 'utf8')), 'SIGSTOP')
    await shell.shows('prompt>')
    shell.type('clear; fg\n')
    await shell.until(() => shell.output.split('\u001b[?1049h').length === 3)
    await shell.shows(HEADINGS)
    shell.type('j')
    await shell.shows('>TASK-002')
    shell.type('q')
    await expectRestored(shell)
    shell.type('exit\n')
    await shell.exited
  })

  test('stays with the board after Ctrl-Z if there is no shell', async () => {
    await using board = openBoard({ cwd: makeProject().root })
    await board.shows(HEADINGS)
    board.type('\u001a')
    await expectRestored(board)
    await board.shows(HEADINGS)
    await quit(board)
  })

  test('may vanish, and the board with it', async () => {
    await using board = openBoard({ cwd: makeProject().root })
    await board.shows(HEADINGS)
    board.hangUp()
    expect(await board.exited).toBe(129)
  })

  test('shows no colour with NO_COLOR', async () => {
    await using board = openBoard({ cwd: makeProject().root, env: { NO_COLOR: '1' } })
    await board.shows(HEADINGS)
    board.type('sd')
    await board.shows('has open acceptance criteria')
    // oxlint-disable-next-line no-control-regex
    expect(board.output).not.toMatch(/\u001b\[(?:3[0-8]|4[0-8]|9\d)/)
    await quit(board)
  })
})

describe('the editor', () => {
  const script =
    '#!/bin/sh\necho "editing: $1"\nread word\nsed "s/Login/$word/" "$1" >"$1.new"\nmv "$1.new" "$1"\n'

  test('gets the terminal and every key, and what it wrote is shown', async () => {
    const project = makeProject()
    writeFiles(project.root, { ed: script })
    await using board = openBoard({ cwd: project.root, env: { VISUAL: 'ed', EDITOR: 'false' } })
    await board.shows(HEADINGS)
    board.type('e')
    await board.shows(/editing: .*TASK-001 - Login\.md/)
    expect(board.leftBehind()).toEqual([])
    board.type('quit\n')
    await board.shows('>quit')
    await quit(board)
  })

  test('may be a line for the shell, and may fail', async () => {
    const project = makeProject()
    const env = { EDITOR: 'f() { test -e "$1" && exit 7; }; f' }
    await using board = openBoard({ cwd: project.root, env })
    await board.shows(HEADINGS)
    board.type('e')
    await board.shows('The editor ended with exit code 7.')
    await quit(board)
  })

  test.each([
    ['is not set', {}, 'Set VISUAL or EDITOR'],
    [
      'does not exist',
      { EDITOR: 'no-such-editor' },
      "Cannot start the editor 'no-such-editor': no such program.",
    ],
  ])('that %s is reported in the footer', async (_, env, message) => {
    await using board = openBoard({ cwd: makeProject().root, env })
    await board.shows(HEADINGS)
    board.type('e')
    await board.shows(message)
    await quit(board)
  })

  test('gets the keys typed after `e`, and the board ignores them', async () => {
    const project = makeProject()
    await using board = openBoard({ cwd: project.root, env: { EDITOR: 'touch opened' } })
    await board.shows(HEADINGS)
    board.type('e>q')
    await board.until(() => board.output.split('\u001b[?1049h').length === 3)
    await board.shows(HEADINGS)
    expect(existsSync(join(project.root, 'opened'))).toBe(true)
    await quit(board)
  })

  test('ends with the board, and Ctrl-C is its own', async () => {
    const project = makeProject()
    const lines = ['trap "echo interrupted" INT', 'trap "touch ended; exit" TERM', 'echo editing']
    const wait = 'while :; do sleep 0.05; done'
    writeFiles(project.root, { ed: `#!/bin/sh\n${[...lines, wait].join('\n')}\n` })
    await using board = openBoard({ cwd: project.root, env: { EDITOR: 'ed' } })
    await board.shows(HEADINGS)
    board.type('e')
    await board.shows('editing')
    board.type('\u0003')
    await board.shows('interrupted')
    board.signal('SIGTERM')
    expect(await board.exited).toBe(143)
    expect(existsSync(join(project.root, 'ended'))).toBe(true)
    await expectRestored(board)
  })
})

describe('without a terminal', () => {
  test('the board is refused with an alternative', async () => {
    const { code, stderr, stdout } = await makeProject().run(['board'])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(
      'forge-tasks: The board needs a terminal for input and output.\n' +
        '  Use: forge-tasks list, or forge-tasks board --plain\n',
    )
  })

  test('--plain prints the columns, one record per line', async () => {
    const project = makeProject()
    await project.must('claim', '3', '--as', 'agent-7')
    expect(await project.must('board', '--plain')).toBe(
      'TASK-001 | To Do | high | Login | ready\n' +
        'TASK-002 | To Do | - | Manual | -\n' +
        'TASK-003 | In Progress | - | Search | claimed by agent-7\n',
    )
  })

  test('--json prints the columns with their counts', async () => {
    const { columns } = (await makeProject().json('board')) as { columns: { count: number }[] }
    expect(columns).toMatchObject([
      { status: 'To Do', count: 2, tasks: [{ id: 'TASK-001', isReady: true }, { id: 'TASK-002' }] },
      { status: 'In Progress', count: 1, tasks: [{ id: 'TASK-003', claimedBy: null }] },
      { status: 'Blocked', count: 0, tasks: [] },
      { status: 'Done', count: 0, tasks: [] },
    ])
  })

  test('a project without tasks is an empty board', async () => {
    const project = new TaskProject()
    renameSync(project.folder, join(project.root, 'elsewhere'))
    expect(await project.must('board', '--plain')).toBe('')
    await using board = openBoard({ cwd: project.root })
    await board.shows('To Do 0')
    board.type('\re<>spanx\r')
    await board.shows('Created TASK-001.')
    await quit(board)
  })
})
