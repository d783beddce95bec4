import { expect, test } from 'bun:test'
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environment, FORKHESTRA } from '../support/forkhestra.ts'
import { TaskProject, taskText } from '../support/forge-tasks.ts'

const NASTY = 'Say "hi" `touch pwned` $(touch pwned) $HOME: it\'s a\\b 😀 {a,b} *'

function task(id: number, status: string, ...lines: string[]): string {
  const at = `createdAt: 2026-01-0${id}T00:00:00.000Z`
  return taskText([`id: TASK-00${id}`, `status: ${status}`, at, ...lines])
}

function project(): TaskProject {
  const criteria = '## Acceptance Criteria\n\n- [x] #1 One\n- [ ] #2 Two: `touch pwned`\n'
  return new TaskProject({
    'TASK-001 - a.md': task(1, 'Done', 'title: First', 'labels: [area:web, two words]'),
    'TASK-002 - b.md': `${task(2, 'To Do', `title: ${JSON.stringify(NASTY)}`, 'dependencies: [TASK-001]')}${criteria}`,
    'TASK-003 - c.md': task(3, 'In Progress', 'title: Third', 'assignee: builder 2'),
    'TASK-004 - d.md': task(4, 'Blocked', 'title: Fourth', "labels: ['$(touch pwned)', \"it's\"]"),
  })
}

/** What bash would offer for the last of these words, as it splits the line. */
async function complete(root: string, words: readonly string[], line = words.join(' ')) {
  const child = Bun.spawn(
    [
      '/bin/bash',
      '--norc',
      '-c',
      `set -u
source <(forge-tasks completions bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$LINE COMP_POINT=\${#LINE}
_forge_tasks forge-tasks "\${@: -1}" "\${@: -2:1}"
for reply in \${COMPREPLY[@]+"\${COMPREPLY[@]}"}; do printf '%s\\n' "$reply"; done`,
      'bash',
      ...words,
    ],
    { cwd: root, env: shellEnvironment(root, line), stdout: 'pipe', stderr: 'pipe' },
  )
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect(stderr).toBe('')
  return stdout.split('\n').slice(0, -1)
}

function shellEnvironment(cwd: string, line: string): Record<string, string> {
  const PATH = `${dirname(FORKHESTRA)}:${process.env['PATH']}`
  return environment({ cwd, env: { PATH, LINE: line, LC_ALL: 'C.UTF-8' } })
}

const typed = (text: string) => ['forge-tasks', ...text.split(' ')]

const cases: readonly (readonly [string, readonly string[]])[] = [
  ['vi', ['view']],
  ['s', ['search', 'stats', 'show', 'set', 'status']],
  ['up', ['update']],
  ['nosuch ', []],
  ['constructor ', []],
  ['--', ['--help', '--version']],
  ['view ', ['TASK-003', 'TASK-002', 'TASK-004', 'TASK-001']],
  ['show task-004', ['TASK-004']],
  ['edit 3 task-2 ', ['TASK-004', 'TASK-001']],
  ['claim ', ['TASK-002', 'TASK-003']],
  ['release ', ['TASK-003']],
  ['archive ', ['TASK-001', 'TASK-002', 'TASK-003', 'TASK-004']],
  ['rm ', ['TASK-001', 'TASK-002', 'TASK-004', 'TASK-003']],
  ['view 1 --js', ['--json']],
  ['view 1 ', ['--history', '--as', '--cwd', '--plain', '--json', '--color', '--help']],
  ['stats --json --', ['--as', '--cwd', '--plain', '--color', '--help']],
  ['list -s todo --st', ['--status']],
  ['create x --depends-on ', ['TASK-003', 'TASK-002', 'TASK-004', 'TASK-001']],
  ['create x --parent TASK-001', ['TASK-001']],
  ['list --blocked-by TASK-004', ['TASK-004']],
  ['edit 2 --remove-dep ', ['TASK-001']],
  ['edit 2 --check-ac ', ['2']],
  ['edit 2 --uncheck-ac ', ['1']],
  ['edit 2 --remove-ac ', ['1', '2']],
  ['list -s ', ['todo', 'in-progress', 'blocked', 'done']],
  ['edit 1 --status d', ['done']],
  ['list -p ', ['high', 'medium', 'low', 'none']],
  ['edit 1 --priority ', ['high', 'medium', 'low', 'none']],
  ['create A --priority ', ['high', 'medium', 'low', 'none']],
  ['list -a ', ['builder\\ 2']],
  ['create x --label ', ['\\$\\(touch\\ pwned\\)', 'area:web', "it\\'s", 'two\\ words']],
  ['edit 1 --remove-label ', ['area:web', 'two\\ words']],
  ['create x --description ', []],
  ['completions ', ['bash', 'zsh', 'fish']],
  ['view -- ', []],
]

test.each(cases)('bash completes %p with %p and executes nothing', async (text, expected) => {
  const { root } = project()
  expect(await complete(root, typed(text))).toEqual([...expected])
  expect(existsSync(join(root, 'pwned'))).toBe(false)
})

const cut: readonly (readonly [string, readonly string[], readonly string[]])[] = [
  ['list --status=', ['list', '--status', '='], ['todo', 'in-progress', 'blocked', 'done']],
  ['list --status=to', ['list', '--status', '=', 'to'], ['todo']],
  ['list -l area:w', ['list', '-l', 'area', ':', 'w'], ['web']],
  ['list --label=area:w', ['list', '--label', '=', 'area', ':', 'w'], ['web']],
  ['edit 1 --assignee= --tit', ['edit', '1', '--assignee', '=', '--tit'], ['--title']],
  ['list -l "two w', ['list', '-l', '"two w'], ['two words']],
  ['list -l "$', ['list', '-l', '"$'], ['\\$(touch pwned)']],
  ["list -l '", ['list', '-l', "'"], ['$(touch pwned)', 'area:web', 'two words']],
  ['list --label="two w', ['list', '--label', '=', '"two w'], ['two words']],
  ['list -l two\\ w', ['list', '-l', 'two\\ w'], ['two\\ words']],
]

test.each(cut)('bash completes %p as it cuts it', async (text, words, expected) => {
  const { root } = project()
  const found = await complete(root, ['forge-tasks', ...words], `forge-tasks ${text}`)
  expect(found).toEqual([...expected])
})

test('--cwd completes folders, and later words are completed in that project', async () => {
  const { root } = project()
  const elsewhere = join(root, 'else where')
  mkdirSync(join(elsewhere, 'forge/tasks'), { recursive: true })
  writeFileSync(join(elsewhere, 'forge/tasks/WEB-7.md'), taskText(['id: WEB-007', 'title: There']))
  writeFileSync(join(root, 'else file'), '')
  expect(await complete(root, typed('list --cwd el'))).toEqual(['else where'])
  for (const path of ['else\\ where', '"else where"', "'else where'", '~/else\\ where'])
    expect(await complete(root, ['forge-tasks', 'view', '--cwd', path, ''])).toEqual(['WEB-007'])
  expect(await complete(root, typed('view --cwd no/such/folder '))).toEqual([])
})

test('zsh and fish get values with their titles, one a line, whatever is in them', async () => {
  const tasks = project()
  tasks.write('TASK-005.md', task(5, 'Blocked', `title: "a\\tb\\e[31m${'x'.repeat(99)}"`))
  for (const shell of ['zsh', 'fish']) {
    expect(await tasks.must('completions', shell, '--', 'view', '')).toBe(
      `none
TASK-003\tThird
TASK-002\t${NASTY}
TASK-004\tFourth
TASK-005\ta b [31m${'x'.repeat(63)}…
TASK-001\tFirst
`,
    )
    expect(await tasks.must('completions', shell, '--', 'list', '--status=d')).toContain(
      '\n--status=done\t\n',
    )
    expect(await tasks.must('completions', shell, '--', 'list', '--cwd', '')).toBe('directories\n')
    expect(await tasks.must('completions', shell, '--', 'vi')).toContain('\nview\tShow one task')
  }
})

const broken: readonly (readonly [string, (tasks: TaskProject) => void])[] = [
  ['that is a file', (tasks) => replaceBy(tasks, '')],
  ['that cannot be read', ({ folder }) => chmodSync(folder, 0)],
  ['with garbage in it', (tasks) => tasks.write('TASK-001 - a.md', '---\nid: [\n<<<<<<<\n')],
  ['with a broken configuration', (tasks) => tasks.write('config.json', '{')],
]

function replaceBy({ folder }: TaskProject, text: string): void {
  rmSync(folder, { recursive: true })
  writeFileSync(folder, text)
}

test.each(broken)('a database %s completes nothing and says nothing', async (_, destroy) => {
  const tasks = new TaskProject()
  destroy(tasks)
  for (const words of ['view ', 'edit 1 --depends-on ', 'edit 1 --check-ac ', 'list -l '])
    expect(await complete(tasks.root, typed(words))).toEqual([])
  const { code, stdout, stderr } = await tasks.run(['completions', 'fish', '--', 'view', ''])
  expect([code, stdout, stderr]).toEqual([0, 'none\n', ''])
  if (existsSync(tasks.folder)) chmodSync(tasks.folder, 0o755)
})

test.each(['bash', 'zsh', 'fish'])('the script for %s asks the program', async (shell) => {
  const script = await new TaskProject().must('completions', shell)
  expect(script).toContain(`forge-tasks completions ${shell} -- `)
  expect(script).toContain('2>/dev/null </dev/null')
})

test('an unknown shell is refused', async () => {
  const { code, stderr } = await new TaskProject().run(['completions', 'tcsh'])
  expect(code).toBe(2)
  expect(stderr).toContain("No completions for 'tcsh'.")
  expect(stderr).toContain('forge-tasks completions bash')
})
