import { describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import {
  FORGE_TASKS,
  ON_READ_ONLY_DISK,
  TaskProject,
  taskText,
  WITHOUT_PRIVILEGES,
} from '../support/forge-tasks.ts'
import { makeProject } from '../support/project.ts'

const GOOD = taskText(['id: TASK-001', 'title: Good'])
const GOOD_LINE = 'TASK-001 | To Do | - | Good\n'

/** One clear message with the name of the program, without a stack or internals. */
function expectMessage(stderr: string): void {
  expect(stderr).toStartWith('forge-tasks: ')
  expect(stderr).not.toMatch(/\n\s+at |\$bunfs|Bun v/)
}

describe('titles', () => {
  test.each([
    ['slashes', '../../etc/passwd and C:\\temp', '../../etc/passwd and C:\\temp'],
    ['quotes', `"double" 'single' \`back\``, `"double" 'single' \`back\``],
    ['signs of YAML', '- [a]: {b} # c & *d !e |f >g %h @i', '- [a]: {b} # c & *d !e |f >g %h @i'],
    ['emoji', '👩‍👩‍👧 first, ünïcödé second', '👩‍👩‍👧 first, ünïcödé second'],
    ['newlines', 'one\ntwo\r\nthree', 'one two three'],
    ['5 000 characters', 'x'.repeat(5000), 'x'.repeat(5000)],
    ['5 000 emoji', '😀'.repeat(5000), '😀'.repeat(5000)],
    ['a number', '007', '007'],
    ['a word of YAML', 'null', 'null'],
    ['a line of dashes', '---', '---'],
    ['spaces around', '  x  ', 'x'],
    ['right to left', 'שלום עולם', 'שלום עולם'],
    ['half a character', '\u{1F600}\u200D', '\u{1F600}\u200D'],
    ...['CON', 'nul', 'COM1', 'LPT9', 'aux.txt', '...', '///'].map((name) => [name, name, name]),
  ])('with %s are kept, in a file that every system can store', async (_, title, expected) => {
    const project = new TaskProject()
    const stdin = JSON.stringify({ title })
    expect((await project.run(['create', '--batch', '--plain'], { stdin })).stdout).toBe(
      'TASK-001\n',
    )
    expect(await project.must('list', '--plain')).toBe(`TASK-001 | To Do | - | ${expected}\n`)
    const [name] = project.names()
    expect(name).toMatch(/^TASK-001(?: - [^<>:"/\\|?*]*[^<>:"/\\|?*. ])?\.md$/)
    expect(Buffer.byteLength(name!)).toBeLessThan(200)
    await project.must('edit', '1', `--title=${title} again`)
    expect(await project.must('list', '--plain')).toBe(
      `TASK-001 | To Do | - | ${`${title} again`.trim().replaceAll(/\s+/g, ' ')}\n`,
    )
    expect(project.names()).toEqual([name!])
  })

  test.each(['', '   ', '\n\t\n', '\u00a0\u2003'])('%j is refused', async (title) => {
    const project = new TaskProject()
    const { code, stdout, stderr } = await project.run(['create', title])
    expect({ code, stdout, names: project.names() }).toEqual({ code: 2, stdout: '', names: [] })
    expectMessage(stderr)
  })

  test('with control characters do not reach the terminal', async () => {
    const project = new TaskProject()
    await project.must('create', 'red \u001b[31malarm\u0007')
    // oxlint-disable-next-line no-control-regex
    expect(await project.must('list', '--plain')).not.toMatch(/[\u0007\u001b]/)
  })
})

describe('ids that look like paths', () => {
  const ids = ['../TASK-001', '/etc/passwd', 'TASK-001/../../x', '.', '..', 'TASK-1.md', 'a\\b']
  test.each(ids)('%s is not an id for any command', async (id) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    for (const command of ['view', 'edit', 'claim', 'release', 'archive', 'delete']) {
      const { code, stdout, stderr } = await project.run([command, id])
      expect({ command, code, stdout }).toEqual({ command, code: 2, stdout: '' })
      expectMessage(stderr)
    }
    expect(project.bytes('TASK-001 - Good.md').toString()).toBe(GOOD)
  })
})

describe('texts', () => {
  test('1 MB as a description is kept, and read back', async () => {
    const project = new TaskProject()
    const description = 'A line of the text.\n'.repeat(52_429)
    const stdin = JSON.stringify({ title: 'Big', description })
    expect((await project.run(['create', '--batch'], { stdin })).code).toBe(0)
    const view = (await project.json('view', '1')) as { description: string }
    expect(view.description).toBe(description.trim())
    await project.must('edit', '1', '--append-notes', 'small')
    const again = (await project.json('view', '1')) as { description: string; notes: string }
    expect(again).toMatchObject({ description: description.trim(), notes: 'small' })
  })

  test.each([
    ['a heading with seven signs below', 'Changes\n=======\ntext'],
    ['dashes', '---\nid: TASK-999\n---'],
    ['comments of the criteria', 'x <!-- AC:BEGIN -->\n- [ ] #9 y\n<!-- AC:END -->'],
    ['a dollar', 'cost: $& $1 $$'],
  ])('with %s break neither the program nor the file', async (_, text) => {
    const project = new TaskProject()
    const created = await project.run(['create', 'A', '-d', text, '--ac', 'mine'])
    if (created.code !== 0) expectMessage(created.stderr)
    expect(created.code).toBe(0)
    const view = (await project.json('view', '1')) as { id: string; description: string }
    expect({ id: view.id, description: view.description }).toEqual({
      id: 'TASK-001',
      description: text,
    })
    expect(await project.json('view', '1')).toMatchObject({ criteria: [{ text: 'mine' }] })
    const edited = await project.run(['edit', '1', '--append-notes', text])
    if (edited.code !== 0) expectMessage(edited.stderr)
    expect(edited.code).toBe(0)
  })

  test('with a conflict are refused or kept, but never break the program', async () => {
    const project = new TaskProject()
    const text = 'Before\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\nafter'
    await project.must('create', 'A')
    for (const args of [
      ['create', 'B', '-d', text],
      ['edit', '1', '--append-notes', text],
    ]) {
      const { code, stderr } = await project.run(args)
      if (code !== 0) expectMessage(stderr)
    }
    expect((await project.run(['list'])).stderr).toBe('')
  })

  test('an impossible lease gives one message', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    for (const lease of ['99999999999d', `${'9'.repeat(400)}h`]) {
      const { code, stderr } = await project.run(['claim', '1', '--lease', lease])
      expectMessage(stderr)
      expect(code).toBe(2)
    }
    expect(project.bytes('TASK-001 - Good.md').toString()).toBe(GOOD)
  })

  test('a batch with very many dependency paths is fast', async () => {
    const layer = (number: number) => [`${number}a`, `${number}b`]
    const tasks = Array.from({ length: 30 }, (_, number) =>
      layer(number).map((key) => ({
        key,
        title: key,
        dependsOn: number === 0 ? [] : layer(number - 1).map((each) => `@${each}`),
      })),
    )
    const stdin = tasks
      .flat()
      .map((task) => JSON.stringify(task))
      .join('\n')
    const project = new TaskProject()
    const { code } = await project.run(['create', '--batch'], { stdin, timeoutMs: 5000 })
    expect({ code, count: project.names().length }).toEqual({ code: 0, count: 60 })
  })
})

describe('a date', () => {
  const WRONG = ['5', 'foo 1', '12/13', 'Monday 3', '2026-02-30', '2026-13-01', 'soon', '2026-1-2']
  const ODD = [
    '2026-01-31T25:00',
    '2026-01-31T10:61Z',
    '2026-02-30T10:00Z',
    '2026-01-31 at 10:00',
    ' ',
  ]
  test.each([...WRONG, ...ODD])('that is invalid is refused: %j', async (due) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const batch = ['create', '--batch']
    const stdin = JSON.stringify({ title: 'A', due })
    for (const finished of [
      await project.run(['create', 'A', `--due=${due}`]),
      await project.run(['edit', '1', `--due=${due}`]),
      await project.run(batch, { stdin }),
    ]) {
      expect(finished.code).toBe(2)
      expect(finished.stderr).toContain(`'${due}' is not a date.\n`)
      expect(finished.stderr).toEndWith(
        '  Use a date such as 2026-01-31 or 2026-01-31T18:00:00Z.\n',
      )
    }
    expect(project.names()).toEqual(['TASK-001 - Good.md'])
    expect(project.read('TASK-001 - Good.md')).toBe(GOOD)
  })

  test.each([
    '2026-01-31',
    '2028-02-29',
    '2026-01-31T18:00',
    '2026-01-31T18:00:00',
    '2026-01-31T18:00:00Z',
    '2026-01-31T18:00:00.5+02:00',
    '2026-01-31T18:00-02:30',
  ])('is kept as it was written: %s', async (due) => {
    const project = new TaskProject()
    await project.must('create', 'A', '--due', due)
    expect(await project.json('view', '1')).toMatchObject({ due })
    await project.must('edit', '1', '--due', '')
    expect(await project.json('view', '1')).toMatchObject({ due: null })
  })

  test('in another format does not make a file unreadable', async () => {
    const text = GOOD.replace('title', 'due: next Monday\ntitle')
    const project = new TaskProject({ 'TASK-001 - Good.md': text })
    await project.must('edit', '1', '-a', 'ann')
    expect(await project.json('view', '1')).toMatchObject({ due: 'next Monday', assignee: 'ann' })
  })
})

describe('a label', () => {
  test.each(['', '  ', '\t\n'])('that is empty is refused: %j', async (label) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const stdin = JSON.stringify({ title: 'A', labels: ['a', label] })
    for (const finished of [
      await project.run(['create', 'A', '-l', label]),
      await project.run(['edit', '1', '-l', 'a', '-l', label]),
      await project.run(['create', '--batch'], { stdin }),
    ]) {
      expect(finished.code).toBe(2)
      expect(finished.stderr).toEndWith('A label is empty.\n  Use a name such as backend.\n')
    }
    expect(project.names()).toEqual(['TASK-001 - Good.md'])
    expect(project.read('TASK-001 - Good.md')).toBe(GOOD)
  })
})

describe('files as other editors leave them', () => {
  const text = [
    '---',
    'title: Windows # mine',
    'custom: yes',
    'id: TASK-001',
    'status: To Do',
    '---',
    '',
    '## Acceptance Criteria',
    '',
    '- [ ] by hand',
    '- [x] #7 seven  ',
    '* [ ] #9 nine',
    '',
    '## Mine',
    '',
    'text  ',
    '',
  ]

  test.each([
    ['CRLF', '\r\n', ''],
    ['a BOM', '\n', '\uFEFF'],
    ['CRLF and a BOM', '\r\n', '\uFEFF'],
  ])('with %s are changed only where asked', async (_, eol, bom) => {
    const before = bom + text.join(eol)
    const project = new TaskProject({ 'TASK-001 - W.md': before })
    await project.must('edit', '1', '--check-ac', '9', '--status', 'blocked')
    expect(project.bytes('TASK-001 - W.md').toString()).toBe(
      before.replace('[ ] #9', '[x] #9').replace('To Do', 'Blocked'),
    )
    expect(await project.must('view', '1')).toContain(
      '- [ ] #1 by hand\n- [x] #7 seven\n- [x] #9 nine\n',
    )
  })

  test('keep bytes that are not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from(GOOD), Buffer.from([0x63, 0x61, 0x66, 0xe9, 0x0a])])
    const project = new TaskProject({ 'TASK-001 - Good.md': bytes })
    const { code } = await project.run(['edit', '1', '--status', 'blocked'])
    const after = project.bytes('TASK-001 - Good.md')
    expect(after.includes(Buffer.from([0x66, 0xe9, 0x0a]))).toBe(true)
    if (code !== 0) expect(after).toEqual(bytes)
  })

  test('keep their permissions', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const path = join(project.folder, 'TASK-001 - Good.md')
    chmodSync(path, 0o660)
    await project.must('edit', '1', '--status', 'blocked')
    expect(statSync(path).mode & 0o777).toBe(0o660)
  })

  test('stay links', async () => {
    const project = new TaskProject()
    const target = join(project.root, 'elsewhere.md')
    writeFileSync(target, GOOD)
    symlinkSync(target, join(project.folder, 'TASK-001 - Good.md'))
    await project.must('edit', '1', '--status', 'blocked')
    expect(readFileSync(target, 'utf8')).toContain('status: Blocked')
  })
})

describe('broken files', () => {
  const BROKEN: readonly (readonly [string, string, number, string])[] = [
    ['no frontmatter', 'text', 1, 'no frontmatter'],
    ['an empty file', '', 1, 'no frontmatter'],
    ['no end', '---\nid: TASK-002\n', 1, 'the frontmatter is never closed'],
    ['a list', '---\n- a\n---\n', 2, 'the frontmatter must consist of `key: value` lines'],
    ['a number', '---\n42\n---\n', 2, 'the frontmatter must consist of `key: value` lines'],
    ['nothing in it', '---\n\n---\n', 2, 'the frontmatter must consist of `key: value` lines'],
    ['bad YAML', '---\nid: TASK-002\na: 1\nlabels: ]\n---\n', 4, 'is not valid YAML'],
    [
      'a conflict',
      '---\nid: TASK-002\n<<<<<<< a\nx: 1\n=======\n>>>>>>> b\n---\n',
      3,
      'merge conflict',
    ],
    ['a wrong status', '---\nid: TASK-002\nstatus: Soon\n---\n', 3, "unknown status 'Soon'"],
    ['binary', '\u0000\u0001\u0002', 1, 'no frontmatter'],
  ]

  test.each(BROKEN)(
    'with %s are reported with their line, and everything else works',
    async (...row) => {
      const [, text, line, problem] = row
      const project = new TaskProject({ 'TASK-001 - Good.md': GOOD, 'TASK-002 - Bad.md': text })
      const { code, stdout, stderr } = await project.run(['list', '--plain'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: GOOD_LINE })
      expect(stderr).toStartWith(`forge-tasks: TASK-002 - Bad.md:${line}: `)
      expect(stderr).toContain(problem)
      expect(stderr.trim().split('\n')).toHaveLength(1)

      const view = await project.run(['view', '2'])
      expect({ code: view.code, stdout: view.stdout }).toEqual({ code: 1, stdout: '' })
      expect(view.stderr).toStartWith(`forge-tasks: TASK-002 - Bad.md:${line}: `)
      expect(await project.must('create', 'C', '--plain')).toBe('TASK-003\n')
      for (const args of [
        ['edit', '2', '-a', 'x'],
        ['claim', '2'],
        ['archive', '2'],
        ['delete', '2'],
      ]) {
        const finished = await project.run(args)
        expect(finished.code).toBe(1)
        expectMessage(finished.stderr)
      }
      expect(project.bytes('TASK-002 - Bad.md').toString()).toBe(text)
    },
  )

  const COMMANDS = [
    ['list'],
    ['list', '--ready'],
    ['list', '--ready', '--explain'],
    ['search', 'good'],
    ['stats'],
    ['next'],
    ['next', '--claim'],
    ['view', '1'],
  ]
  test.each(COMMANDS.map((args) => [args]))('%j works beside one, and names it', async (args) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD, 'TASK-002 - Bad.md': 'text' })
    const { code, stdout, stderr } = await project.run(args)
    expect(code).toBe(0)
    expect(stdout).not.toBe('')
    expect(stderr).toBe(
      'forge-tasks: TASK-002 - Bad.md:1: no frontmatter: the first line must be ---\n',
    )
  })

  test('are part of the JSON of a list', async () => {
    const project = new TaskProject({ 'TASK-002 - Bad.md': 'text' })
    const { stdout } = await project.run(['list', '--json'])
    expect(JSON.parse(stdout)).toEqual({
      tasks: [],
      broken: [
        {
          file: 'TASK-002 - Bad.md',
          line: 1,
          problem: 'no frontmatter: the first line must be ---',
        },
      ],
    })
  })

  test('with a duplicate id are reported until they are fixed', async () => {
    const project = new TaskProject({
      'TASK-001 - Good.md': GOOD.replace('---\n\n', 'createdAt: 2026-01-01\n---\n\n'),
      'TASK-001 - Late.md': taskText(['id: TASK-001', 'title: Late', 'createdAt: 2026-02-01']),
    })
    for (let time = 0; time < 2; time++) {
      expect(await project.run(['list', '--plain'])).toEqual({
        code: 0,
        stdout: GOOD_LINE,
        stderr:
          'forge-tasks: TASK-001 - Late.md:1: has the same id TASK-001 as "TASK-001 - Good.md"; run: forge-tasks doctor --fix\n',
      })
    }
    await project.must('doctor', '--fix')
    expect((await project.run(['list'])).stderr).toBe('')
  })

  test.each([
    ['a directory', (path: string) => mkdirSync(path), 'it is a directory, expected a file'],
    [
      'a link in a circle',
      (path: string) => symlinkSync(path, path),
      'it is in a symbolic link loop',
    ],
    [
      'a link to nowhere',
      (path: string) => symlinkSync('/nowhere/at/all', path),
      'it is a broken symbolic link',
    ],
  ])('that are %s are reported, and everything else works', async (_, make, problem) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    make(join(project.folder, 'TASK-002 - Odd.md'))
    expect(await project.run(['list', '--plain'])).toEqual({
      code: 0,
      stdout: GOOD_LINE,
      stderr: `forge-tasks: TASK-002 - Odd.md:1: ${problem}\n`,
    })
    expect(await project.must('create', 'C', '--plain')).toBe('TASK-003\n')
    for (const args of [
      ['view', '2'],
      ['edit', '2', '-a', 'x'],
      ['delete', '2'],
      ['doctor', '--fix'],
    ]) {
      const { code, stdout, stderr } = await project.run(args)
      expect(code).toBe(1)
      expect(stdout + stderr).toContain(`TASK-002 - Odd.md:1: ${problem}`)
    }
  })

  test('that are pipes do not block a command', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    Bun.spawnSync(['mkfifo', join(project.folder, 'TASK-002 - Pipe.md')])
    const { code, stdout, stderr } = await project.run(['list', '--plain'], { timeoutMs: 5000 })
    expect({ code, stdout }).toEqual({ code: 0, stdout: GOOD_LINE })
    expect(stderr).toStartWith('forge-tasks: TASK-002 - Pipe.md:1: ')
  })

  test('that are pipes in the local state do not block a command', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    Bun.spawnSync(['git', 'init', '-q'], { cwd: project.root })
    const state = join(project.root, '.git/forge-tasks')
    mkdirSync(state)
    Bun.spawnSync(['mkfifo', join(state, 'state.json'), join(state, 'index')])
    const list = await project.run(['list', '--plain'], { timeoutMs: 5000 })
    expect(list).toEqual({ code: 0, stdout: GOOD_LINE, stderr: '' })
    const { code } = await project.run(['create', 'B'], { timeoutMs: 5000 })
    expect(code).toBe(0)
    rmSync(join(state, 'lock'))
    Bun.spawnSync(['mkfifo', join(state, 'lock')])
    const locked = await project.run(['create', 'C'], { timeoutMs: 5000 })
    expect(locked.code).toBe(1)
    expect(locked.stderr).toContain('Cannot change the tasks in')
  })

  test('without read permission are reported, and everything else works', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD, 'TASK-002 - B.md': GOOD })
    chmodSync(join(project.folder, 'TASK-002 - B.md'), 0)
    const program = WITHOUT_PRIVILEGES
    const { code, stdout, stderr } = await project.run(['list', '--plain'], { program })
    expect({ code, stdout }).toEqual({ code: 0, stdout: GOOD_LINE })
    expect(stderr).toBe('forge-tasks: TASK-002 - B.md:1: it is not readable by this user\n')
  })

  test('whose names are not UTF-8 are reported, and everything else works', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const odd = (name: string) => Buffer.concat([Buffer.from(`${name} caf`), Buffer.from([0xe9])])
    const write = (folder: string, name: string) => {
      const path = [Buffer.from(`${folder}/`), odd(name), Buffer.from('.md')]
      writeFileSync(Buffer.concat(path), GOOD.replace('TASK-001', name.slice(0, 8)))
    }
    write(project.folder, 'TASK-009 -')
    write(join(project.folder, 'archive'), 'TASK-008 -')
    const problem = 'the file name is not valid UTF-8: rename the file'
    const open = `TASK-009 - caf\uFFFD.md:1: ${problem}`
    expect(await project.run(['list', '--plain'])).toEqual({
      code: 0,
      stdout: GOOD_LINE,
      stderr: `forge-tasks: ${open}\n`,
    })
    for (const [id, file] of [
      ['9', open],
      ['8', open.replace('9', '8')],
    ] as const) {
      const { code, stderr } = await project.run(['view', id])
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `forge-tasks: ${file}\n  Fix the file, or run: forge-tasks doctor\n`,
      })
    }
    expect(await project.run(['doctor', '--fix', '--plain'])).toMatchObject({
      code: 1,
      stdout: `${open}\narchive/${open.replace('9', '8')}\n`,
    })
    expect(await project.must('create', 'C', '--plain')).toBe('TASK-010\n')
  })

  test('in the archive do not count as done, and break nothing', async () => {
    const project = new TaskProject({
      'archive/TASK-001 - A.md': 'text',
      'TASK-002 - B.md': taskText(['id: TASK-002', 'dependencies: [TASK-001]']),
    })
    expect(await project.must('list', '--ready', '--explain')).toBe(
      'TASK-002 | To Do | - | B | waits for TASK-001 (archived, unreadable)\n',
    )
  })
})

describe('state, index and configuration', () => {
  const inLocal = (project: TaskProject, name: string) => join(project.folder, '.local', name)
  const CLAIM = { owner: 'a', at: '2026-01-01T00:00:00.000Z', root: '/' }

  test.each([
    '',
    '{',
    'null',
    '[]',
    '{"version":1}',
    '{"version":1,"claims":null,"numbers":null}',
    '\u0000',
  ])('nothing is lost if the files contain %j', async (garbage) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    mkdirSync(join(project.folder, '.local'))
    for (const name of ['state.json', 'index.json']) writeFileSync(inLocal(project, name), garbage)
    expect(await project.must('list', '--plain')).toBe(GOOD_LINE)
    expect(await project.must('list', '--ready', '--plain')).toBe(GOOD_LINE)
    expect(await project.must('create', 'B', '--plain')).toBe('TASK-002\n')
    expect(await project.must('next', '--claim', '--as', 'ann')).toStartWith('id: TASK-001\n')
  })

  test.each([
    { claims: { 'TASK-001': null } },
    { claims: { 'TASK-001': [] } },
    { claims: { 'TASK-001': { owner: 'a' } } },
    { claims: { 'TASK-001': { ...CLAIM, run: 'r' } } },
    { claims: { 'TASK-001': { ...CLAIM, until: 'tomorrow' } } },
    { claims: { 'TASK-001': { ...CLAIM, settled: 'so' } } },
    { claims: { 'TASK-001': { ...CLAIM, leaseMs: 1e300 } } },
    { claims: { 'TASK-001': { ...CLAIM, worktree: 'w2' } } },
    { moves: [{ from: 'a', to: 'b', was: 1 }] },
    { attempts: { 'TASK-001': null } },
    { attempts: { 'TASK-001': [null, { owner: 'a' }] } },
    { moves: [null, {}, { from: 1, to: 2 }] },
    { numbers: { TASK: 'many' } },
    { numbers: { TASK: 1.5 } },
    { main: null },
  ])('entries of the wrong shape are ignored: %j', async (wrong) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    writeState(project, wrong)
    expect(await project.must('list', '--ready', '--plain')).toBe(GOOD_LINE)
    expect(await project.must('view', '1')).not.toContain('attempt:')
    await project.must('board', '--plain')
    expect(await project.must('create', 'B', '--plain')).toBe('TASK-002\n')
    expect(await project.must('next', '--claim', '--as', 'ann')).toStartWith('id: TASK-001\n')
    await project.must('release', '1', '--as', 'ann')
    expect(await project.must('view', '1')).toContain(': released')
  })

  test('valid entries next to invalid ones are kept', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    writeState(project, { claims: { 'TASK-001': CLAIM, 'TASK-002': null } })
    expect(await project.run(['claim', '1', '--as', 'b'])).toMatchObject({ code: 3 })
  })

  test.each([
    ['no JSON', '{', 2],
    ['a wrong prefix', '{"prefix":"../x"}', 2],
  ])('%s in the configuration gives one message', async (_, text, code) => {
    const project = new TaskProject({ 'config.json': text, 'TASK-001 - Good.md': GOOD })
    const finished = await project.run(['create', 'B'])
    expect(finished.code).toBe(code)
    expectMessage(finished.stderr)
    expect(project.names()).toEqual(['TASK-001 - Good.md'])
    expect(await project.must('list', '--plain')).toBe(GOOD_LINE)
  })

  test('a configuration that is a directory gives one message', async () => {
    const project = new TaskProject()
    mkdirSync(join(project.folder, 'config.json'))
    const { code, stderr } = await project.run(['create', 'B'])
    expectMessage(stderr)
    expect(code).toBeGreaterThan(0)
  })

  test('a clock that goes backwards hides no change', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    await project.must('list')
    const path = join(project.folder, 'TASK-001 - Good.md')
    for (const year of [2090, 1980, 2000]) {
      writeFileSync(path, GOOD.replace('Good', `G${year}`))
      utimesSync(path, new Date(year, 1), new Date(year, 1))
      expect(await project.must('list', '--plain')).toBe(GOOD_LINE.replace('Good', `G${year}`))
    }
  })

  test('a task created in the future counts as younger', async () => {
    const future = taskText(['id: TASK-001', 'title: Good', 'createdAt: 2090-01-01T00:00:00.000Z'])
    const project = new TaskProject({ 'TASK-001 - Good.md': future })
    await project.must('create', 'Now')
    expect(await project.must('list', '--ready', '--plain')).toBe(
      `TASK-002 | To Do | - | Now\n${GOOD_LINE}`,
    )
  })
})

describe('folders that cannot be written', () => {
  const WRITING = [['init'], ['create', 'A']]

  test.each(WRITING.map((args) => [args]))(
    '%j: a file in place of forge is one message',
    async (args) => {
      const project = new TaskProject()
      rmSync(join(project.root, 'forge'), { recursive: true })
      writeFileSync(join(project.root, 'forge'), 'mine')
      const { code, stdout, stderr } = await project.run(args)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expectMessage(stderr)
      expect(readFileSync(join(project.root, 'forge'), 'utf8')).toBe('mine')
      expect(await project.run(['list', '--plain'])).toEqual({ code: 0, stdout: '', stderr: '' })
    },
  )

  test('a file in place of the archive gives one message, and no task moves', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    rmSync(join(project.folder, 'archive'), { recursive: true })
    project.write('archive', 'mine')
    const { code, stderr } = await project.run(['archive', '1'])
    expect(code).toBe(1)
    expectMessage(stderr)
    expect(await project.must('list', '--plain')).toBe(GOOD_LINE)
  })

  test('a file in place of the local state gives one message, and reading works', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD, '.local': 'mine' })
    for (const args of [
      ['create', 'B'],
      ['claim', '1'],
      ['edit', '1', '-a', 'x'],
      ['delete', '1'],
    ]) {
      const { code, stderr } = await project.run(args)
      expect(code).toBe(1)
      expectMessage(stderr)
    }
    expect(project.bytes('TASK-001 - Good.md').toString()).toBe(GOOD)
    for (const args of [['list'], ['view', '1'], ['next'], ['stats'], ['search', 'good']]) {
      expect((await project.run(args)).code).toBe(0)
    }
  })

  test('a read-only folder gives one message, changes nothing, and can be read', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    await project.must('list')
    const program = ON_READ_ONLY_DISK
    for (const args of [
      ['create', 'B'],
      ['edit', '1', '-a', 'x'],
      ['claim', '1'],
      ['next', '--claim'],
      ['delete', '1'],
      ['archive', '1'],
      ['init'],
    ]) {
      const { code, stderr } = await project.run(args, { program })
      expect({ args, code }).toEqual({ args, code: 1 })
      expectMessage(stderr)
    }
    const list = await project.run(['list', '--plain'], { program })
    expect(list).toEqual({ code: 0, stdout: GOOD_LINE, stderr: '' })
    for (const args of [['view', '1'], ['next'], ['search', 'good'], ['stats'], ['doctor']]) {
      expect(await project.run(args, { program })).toMatchObject({ code: 0, stderr: '' })
    }
    expect(readdirSync(project.folder).filter((name) => name.startsWith('.unfinished'))).toEqual([])
    expect(project.bytes('TASK-001 - Good.md').toString()).toBe(GOOD)
    expect(await project.must('list', '--ready', '--explain')).toBe(
      'TASK-001 | To Do | - | Good | ready\n',
    )
  })

  test('a missing project gives one message', async () => {
    const project = new TaskProject()
    const { code, stderr } = await project.run(['list', '--cwd', join(makeProject(), 'no')])
    expect(code).toBe(2)
    expectMessage(stderr)
  })
})

describe('output', () => {
  const FULL = ['sh', '-c', 'exec "$0" "$@" > /dev/full', FORGE_TASKS]

  test.each(['>&-', '1>&- 2> /dev/null'])(
    'that is closed (%s) gets exit code 1',
    async (closed) => {
      const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
      const program = ['sh', '-c', `exec "$0" "$@" ${closed}`, FORGE_TASKS]
      expect((await project.run(['list', '--plain'], { program })).code).toBe(1)
      expect((await project.run(['stats'], { program })).code).toBe(1)
    },
  )

  test('that is discarded is not an error', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const program = ['sh', '-c', 'exec "$0" "$@" > /dev/null', FORGE_TASKS]
    expect(await project.run(['list'], { program })).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  test.each([
    [['list']],
    [['next', '--claim', '--json']],
    [['view', '1']],
    [['create', 'B']],
    [['stats', '--json']],
    [['release', '1', '--json']],
    [['archive', '--done']],
    [['delete', '1']],
    [['view', '9', '--json']],
    [['--help']],
  ])('of %j that cannot be written gives one message and exit code 1', async (args) => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const { code, stderr } = await project.run(args, { program: FULL })
    expect(code).toBe(1)
    expect(stderr).toContain('forge-tasks: Cannot write the output: ENOSPC')
    expect(stderr).not.toContain('internal error')
  })

  test('into a closed pipe is not an error', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const program = ['bash', '-c', '"$0" "$@" | true; exit "${PIPESTATUS[0]}"', FORGE_TASKS]
    expect(await project.run(['list', '--help'], { program })).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('into a non-blocking pipe arrives completely', async () => {
    const body = 'x'.repeat(500_000)
    const project = new TaskProject({ 'TASK-001 - Good.md': `${GOOD}## Description\n\n${body}\n` })
    const slow = `import os, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(w, False)
child = subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
time.sleep(0.2)
total = 0
while chunk := os.read(r, 65536):
    total += len(chunk)
print(child.wait(), total > 500000)`
    const program = ['python3', '-c', slow, FORGE_TASKS]
    expect((await project.run(['view', '1', '--json'], { program })).stdout).toBe('0 True\n')
  })

  test('does not let a title move the cursor', async () => {
    const { stdout } = await new TaskProject().run(['create', 'A\u001b[2J\u0007\nB'])
    expect(stdout).toBe('Created TASK-001: A [2J B\n')
  })
})

test('a folder without read permission gives one message', async () => {
  const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
  await project.must('list')
  chmodSync(project.folder, 0)
  for (const args of [['list'], ['next', '--claim'], ['create', 'B'], ['view', '1'], ['stats']]) {
    const { code, stdout, stderr } = await project.run([...args, '--json'], {
      program: WITHOUT_PRIVILEGES,
    })
    expect({ args, code }).toEqual({ args, code: 1 })
    expectMessage(stderr)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false })
  }
  chmodSync(project.folder, 0o755)
})

test('a huge sparse state from an archive is ignored', async () => {
  const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
  writeState(project, {})
  truncateSync(join(project.folder, '.local/state.json'), 2 ** 40)
  expect((await project.run(['list', '--plain'])).stdout).toBe(GOOD_LINE)
})

test('a README among the tasks is not a broken task', async () => {
  const project = new TaskProject({
    'TASK-001 - Good.md': GOOD,
    'README.md': '# Our tasks\n',
    'TASK-002 - Empty.md': '',
    'note.md': '---\nstatus: nonsense\n---\n',
  })
  const { stdout, stderr } = await project.run(['list', '--plain'])
  expect(stdout).toBe(GOOD_LINE)
  expect(stderr).not.toContain('README')
  expect(stderr.trim().split('\n')).toHaveLength(2)
})

test('viewing a broken file reports it once', async () => {
  const project = new TaskProject({ 'TASK-001 - Bad.md': 'no frontmatter' })
  const { code, stderr } = await project.run(['view', '1'])
  expect(code).toBe(1)
  expect(stderr.match(/TASK-001 - Bad\.md/g)).toHaveLength(1)
})

describe('git', () => {
  const who = ['-c', 'user.name=n', '-c', 'user.email=a@b', '-c', 'commit.gpgSign=false']
  const git = (cwd: string, ...args: readonly string[]) => {
    expect(Bun.spawnSync(['git', ...who, ...args], { cwd }).exitCode).toBe(0)
  }

  test('does not start programs that the repository configures', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const [evil, proof] = [join(project.root, 'evil'), join(project.root, 'proof')]
    writeFileSync(evil, `#!/bin/sh\ntouch '${proof}'\n`, { mode: 0o755 })
    git(project.root, 'init', '-q')
    git(project.root, 'add', 'forge')
    git(project.root, 'commit', '-q', '-m', 'One')
    // A commit that claims to be signed makes git ask the program of the configuration.
    const raw = Bun.spawnSync(['git', 'cat-file', 'commit', 'HEAD'], { cwd: project.root })
    const signature = 'gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n'
    const signed = raw.stdout.toString().replace('\n\n', `\n${signature}\n`)
    const made = Bun.spawnSync(['git', 'hash-object', '-t', 'commit', '-w', '--stdin'], {
      cwd: project.root,
      stdin: Buffer.from(signed),
    })
    git(project.root, 'reset', '-q', made.stdout.toString().trim())
    git(project.root, 'config', 'log.showSignature', 'true')
    git(project.root, 'config', 'gpg.program', evil)
    expect(await project.must('view', '1', '--history')).toContain('commit: ')
    expect(existsSync(proof)).toBe(false)
    git(project.root, 'log')
    expect(existsSync(proof)).toBe(true)
  })

  test('needs `git add` after the doctor has resolved a conflict', async () => {
    const project = new TaskProject()
    await project.must('create', 'A')
    git(project.root, 'init', '-q', '-b', 'main')
    const commit = async (note: string) => {
      await project.must('edit', '1', '--append-notes', note)
      git(project.root, 'add', 'forge')
      git(project.root, 'commit', '-q', '-m', note)
    }
    await commit('First')
    git(project.root, 'checkout', '-q', '-b', 'other')
    await commit('Theirs')
    git(project.root, 'checkout', '-q', 'main')
    await commit('Ours')
    Bun.spawnSync(['git', ...who, 'merge', '-q', 'other'], { cwd: project.root })
    expect(await project.must('doctor', '--fix')).toEndWith(
      ' -> merged both sides; mark it as resolved: git add "forge/tasks/TASK-001 - A.md"\n',
    )
    git(project.root, 'add', 'forge/tasks/TASK-001 - A.md')
    expect(await project.must('doctor')).toBe('No problems found.\n')
  })

  test('is never run from the project folder', async () => {
    const project = new TaskProject({ 'TASK-001 - Good.md': GOOD })
    const proof = join(project.root, 'proof')
    writeFileSync(join(project.root, 'git'), `#!/bin/sh\ntouch '${proof}'\n`, { mode: 0o755 })
    for (const PATH of [`.:${process.env['PATH']}`, `:${process.env['PATH']}`, '.']) {
      await project.run(['view', '1', '--history'], { env: { PATH } })
    }
    expect(existsSync(proof)).toBe(false)
  })
})

/** A state with a valid place. */
function writeState(project: TaskProject, fields: object): void {
  const folder = join(project.folder, '.local')
  mkdirSync(folder)
  const { ino, birthtimeNs } = statSync(folder, { bigint: true })
  const state = { version: 1, place: `${ino}-${birthtimeNs}`, ...fields }
  writeFileSync(join(folder, 'state.json'), JSON.stringify(state))
}
