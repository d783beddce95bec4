import { expect, test } from 'bun:test'
import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra, shell } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'

const SAY = sh('echo ran >> ran.txt', 'printf "said:<%s>\\n" "$1"')

const project = (files: Files = {}) => makeProject({ say: SAY, ...files })
const config = (content: object) => ({ 'forge/orch/chains.json': JSON.stringify(content) })

async function check(cwd: string, args: readonly string[]) {
  const { code, stdout, stderr } = await forkhestra(['prompt', 'check', ...args], { cwd })
  return { code, stdout, stderr }
}

async function checkJson(cwd: string, args: readonly string[]) {
  const { code, stdout } = await check(cwd, [...args, '--json'])
  return { code, json: JSON.parse(stdout) as Checked }
}

interface Checked {
  readonly ok: boolean
  readonly problems?: readonly { readonly message: string; readonly hint?: string }[]
  readonly setup: readonly Record<string, unknown>[]
  readonly teardown: readonly Record<string, unknown>[]
  readonly content: { readonly text: string }
  readonly steps: readonly Checked[]
}

test('a prompt is checked and nothing runs', async () => {
  const cwd = project({
    'design.md': 'x'.repeat(4096),
    'p.md':
      '/read design.md\n/read gone.md\n/push name=prep agent=say "Prepare it"\n/run\n\nBuild it.\n\n/push name=tests "Write tests"\n',
  })
  expect(await check(cwd, ['p.md'])).toEqual({
    code: 0,
    stderr: '',
    stdout: `p.md: dry run, nothing was executed.

Setup, before the agent starts:
  line 1  read design.md: 4 KiB, about 1.0k tokens
  line 2  read gone.md: error result: File does not exist: gone.md
  line 3  queue prep: "Prepare it" (agent say)
  line 4  start all queued tasks

Content, sent to the agent: 1 line, 9 bytes, about 3 tokens
  | Build it.

Teardown, after the agent has completed:
  line 8  queue tests: "Write tests"

Warning: 'gone.md' cannot be read; the agent would get the error instead.
`,
  })
  expect(existsSync(join(cwd, 'ran.txt'))).toBe(false)
  expect(existsSync(join(cwd, '.state'))).toBe(false)
})

test('a prompt can be read from standard input', async () => {
  const cwd = project({ 'a.md': 'alpha' })
  const { code, stdout } = await shell(
    `printf '/read a.md\\nGo.' | forkhestra prompt check - --json`,
    cwd,
  )
  expect(code).toBe(0)
  expect(JSON.parse(new TextDecoder().decode(stdout))).toMatchObject({
    ok: true,
    prompt: 'standard input',
    setup: [{ kind: 'read', path: 'a.md', line: 1, bytes: 5, tokens: 2 }],
    content: { text: 'Go.' },
  })
})

test.each([
  ["printf '\\377'", 'not UTF-8'],
  ["printf 'a\\0b'", 'standard input:1:2  The prompt contains a NUL byte.'],
  ['cat /dev/zero', 'too long; the limit is 16 MiB'],
])('of %s on standard input no prompt is made', async (command, message) => {
  const { code, stderr } = await shell(`${command} | forkhestra prompt check -`, project())
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})

test.each([
  ['Go.\n/push "never closed', 'p.md:2:7  The quote " is never closed.'],
  ['Go.\n/read a.md', 'p.md:2:1  /read is not allowed after the content'],
  ['/push name="a\\nb" x', 'p.md:1:12  "a\\nb" is not a valid task name.'],
  ['/push name=../x y', 'p.md:1:12  "../x" is not a valid task name.'],
  ['/push color=red x', "p.md:1:7  /push has no option 'color'."],
  ['/push name=t "Go.\\n/run"', "p.md:1, task 't':2:1  /run is not allowed after the content"],
  ['/push name=t agent=nobody x', "p.md:1, task 't'  Agent not found: nobody"],
])('%j is refused with its place before anything runs', async (text, message) => {
  const cwd = project({ 'p.md': text })
  const checked = await check(cwd, ['p.md'])
  expect(checked.stderr).toContain(`[forkhestra] Error: ${message}`)
  expect(checked.code).toBe(2)
  const { json } = await checkJson(cwd, ['p.md'])
  expect(json.ok).toBe(false)
  expect(json.problems?.[0]?.message).toStartWith(message)
  const run = await forkhestra(['say -> say', '--prompt-file', 'p.md'], { cwd })
  expect(run.stderr).toContain(`[forkhestra] Error: ${message}`)
  expect(run.code).toBe(2)
  expect(existsSync(join(cwd, 'ran.txt'))).toBe(false)
})

test('a mistake in the prompt of the last step is reported before the first one runs', async () => {
  const steps = [
    { agent: 'say', prompt: 'Go.' },
    { agent: 'say', prompt: '/send x' },
  ]
  const cwd = project(config({ chains: { c: { steps } } }))
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(stderr).toContain('the prompt of step 2:1:1  /send is not a prompt command.')
  expect(code).toBe(2)
  expect(existsSync(join(cwd, 'ran.txt'))).toBe(false)
})

test.each(['step', 'chain', 'agent', 'command line'])(
  'where the %s says that the prompt is raw, nothing in it is a command',
  async (level) => {
    const raw = (name: string) => (name === level ? { rawPrompt: true } : {})
    const prompt = '/read gone.md\n/nothing\n/push "'
    const content = {
      agents: { say: { defaultPrompt: prompt, ...raw('agent') } },
      chains: { c: { ...raw('chain'), steps: [{ agent: 'say', ...raw('step') }] } },
    }
    const cwd = project(config(content))
    const args = ['--chain', 'c', ...(level === 'command line' ? ['--raw-prompt'] : [])]
    const { code, stdout } = await forkhestra(args, { cwd })
    expect(stdout).toContain(`said:<${prompt}>`)
    expect(code).toBe(0)
    const { json } = await checkJson(cwd, args)
    expect(json.steps[0]).toMatchObject({ setup: [], content: { text: prompt }, teardown: [] })
  },
)

test('the configured limit and folders apply to /read', async () => {
  const shared = makeProject({ 'lib/rules.md': 'Rules.' })
  const prompt = `/read ${shared}/lib/rules.md\n/read long.md\nGo.`
  const step = { agent: 'say', prompt }
  const chains = {
    usual: { steps: [step] },
    wide: { readRoots: [shared], steps: [{ ...step, readLimit: 6 }] },
  }
  const cwd = project({ 'long.md': 'A longer file.', ...config({ chains }) })
  const usual = await checkJson(cwd, ['--chain', 'usual'])
  expect(usual.json.steps[0]?.setup).toMatchObject([
    { error: expect.stringContaining('outside the project') },
    { bytes: 14 },
  ])
  const wide = await checkJson(cwd, ['--chain', 'wide'])
  expect(wide.json.steps[0]?.setup).toMatchObject([
    { bytes: 6 },
    { error: expect.stringContaining('it is 14 bytes, over the limit of 6 bytes') },
  ])
})

test('any path for /read is answered at once and the prompt stays valid', async () => {
  const cwd = project({ 'nul.bin': 'a\0b', 'latin.txt': new Uint8Array([0xff, 0x41]) })
  Bun.spawnSync(['mkfifo', join(cwd, 'fifo')])
  symlinkSync('/etc/passwd', join(cwd, 'passwd'))
  symlinkSync('/dev/zero', join(cwd, 'zero'))
  symlinkSync('loop', join(cwd, 'loop'))
  mkdirSync(join(cwd, 'folder'))
  writeFileSync(join(cwd, 'big'), '')
  truncateSync(join(cwd, 'big'), 100 * 1024 * 1024)
  const expected = {
    fifo: 'is not a regular file',
    passwd: 'is outside the project',
    zero: 'is outside the project',
    '/dev/zero': 'is outside the project',
    '/etc/passwd': 'is outside the project',
    '../../etc/group': 'is outside the project',
    loop: 'is in a symbolic link loop',
    folder: 'is a directory',
    big: 'is 100 MiB, over the limit of 256 KiB',
    'nul.bin': 'is a binary file',
    'latin.txt': 'is not UTF-8 text',
  }
  const paths = Object.keys(expected)
  writeFileSync(join(cwd, 'p.md'), paths.map((path) => `/read ${path}\n`).join(''))
  const { code, json } = await checkJson(cwd, ['p.md'])
  expect(code).toBe(0)
  expect(json.content.text).toBe('')
  expect(json.setup).toMatchObject(
    Object.values(expected).map((words) => ({ error: expect.stringContaining(words) })),
  )
  expect(JSON.stringify(json)).not.toContain('root:')
})

test('a prompt of only commands runs the agent without a prompt', async () => {
  const cwd = project({ 'a.md': 'alpha' })
  const { stdout, code } = await forkhestra(['say', '-p', '/read a.md', '--dry-run'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('1. say - run once\n       before: read a.md (5 bytes)\n')
})

test('a dry run summarises the commands of a prompt; -v and --json show all', async () => {
  const prompt =
    '/read a-${ITERATION}.md\n/push name=p-${STEP} retry=2 "P"\nGo ${STEP}.\n/push name=t "T"'
  const steps = [{ agent: 'say', iterations: 3, prompt }]
  const cwd = project({ 'a-1.md': 'alpha', ...config({ chains: { c: { steps } } }) })
  const dryRun = async (...more: string[]) =>
    (await forkhestra(['--chain', 'c', '--dry-run', ...more], { cwd })).stdout
  const short = await dryRun()
  expect(short).toContain('       prompt: "Go ${STEP}."\n')
  expect(short).toContain('       before: read a-1.md (5 bytes); queue p-1\n')
  expect(short).toContain('       afterwards: queue t\n')
  const long = await dryRun('-v')
  expect(long).toContain('       before: read a-1.md: 5 bytes, about 2 tokens\n')
  expect(long).toContain('       before: queue p-1: "P" (retry 2)\n')
  const event = JSON.parse(await dryRun('--json')) as { steps: { phases: unknown }[] }
  expect(event.steps[0]?.phases).toEqual({
    setup: [
      { kind: 'read', path: 'a-1.md', line: 1, bytes: 5, tokens: 2 },
      { kind: 'push', name: 'p-1', retry: 2, prompt: 'P', line: 2 },
    ],
    teardown: [{ kind: 'push', name: 't', prompt: 'T', line: 4 }],
  })
})

test('values of variables are text, in the prompt and in prompts of tasks', async () => {
  const steps = [{ agent: 'say', prompt: '/push "${TEXT}"\n${TEXT}' }]
  const cwd = project(config({ chains: { c: { steps } } }))
  const { json } = await checkJson(cwd, ['--chain', 'c', 'TEXT=/read /etc/passwd'])
  expect(json.steps[0]).toMatchObject({
    setup: [{ kind: 'push', prompt: '//read /etc/passwd' }],
    content: { text: '/read /etc/passwd' },
  })
})

test.each([
  [[], 'A subcommand is missing.'],
  [['chek'], "Unknown subcommand 'chek'."],
  [['check'], 'No prompt given.'],
  [['check', 'a', 'b'], "Unexpected argument 'b'."],
  [['check', 'gone.md'], 'Prompt file not found: gone.md'],
  [['check', '--chain', 'gone'], 'gone'],
])('prompt %j says what is missing', async (args, message) => {
  const { code, stderr } = await forkhestra(['prompt', ...args], { cwd: project() })
  expect(stderr).toContain(message)
  expect(code).toBe(2)
})

test('prompt check warns of a command that does not start its line', async () => {
  const cwd = makeProject({ 'p.md': ' /read notes.md\nGo.\n' })
  const { stdout } = await forkhestra(['prompt', 'check', 'p.md'], { cwd })
  expect(stdout).toEndWith(
    "Warning: '/read' is sent as plain text: commands must start in column 1.\n",
  )
})

test('a run warns of a command in the middle of the text, which is not carried out', async () => {
  const cwd = makeProject({ 'p.md': 'Go.\n/push name=a "x"\nThen end.\n' })
  const run = await forkhestra(['echo', '--prompt-file', 'p.md'], { cwd })
  const warning = "'/push' in the middle of the text is sent as plain text."
  expect(run.stderr).toContain(`[forkhestra] Warning: p.md: ${warning}`)
  expect(run.stdout).toContain('Go.\n/push name=a "x"\nThen end.\n')
  const { stdout } = await forkhestra(['prompt', 'check', 'p.md'], { cwd })
  expect(stdout).toContain(`\nWarning: ${warning}`)
})

test('prompt check warns of lines that look like commands', async () => {
  const cwd = makeProject({ 'p.md': '/raed notes.md\nGo.\n/RUN\n' })
  const words = (word: string, meant: string) =>
    `'${word}' is not a command and is sent as plain text (did you mean ${meant}?)`
  const warnings = [words('/raed', '/read'), words('/RUN', '/run')]
  const shown = await forkhestra(['prompt', 'check', 'p.md'], { cwd })
  expect(shown.stdout).toEndWith(warnings.map((each) => `Warning: ${each}\n`).join(''))
  const { stdout } = await forkhestra(['prompt', 'check', 'p.md', '--json'], { cwd })
  expect(JSON.parse(stdout)).toMatchObject({ ok: true, warnings })
  const raw = await forkhestra(['prompt', 'check', 'p.md', '--raw-prompt'], { cwd })
  expect(raw.stdout).not.toContain('Warning')
})
