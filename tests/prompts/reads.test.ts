import { expect, test } from 'bun:test'
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh, type Files } from '../support/project.ts'
import { tasksOf } from '../support/queue.ts'

/** Appends its prompt to a file named after it; the agent of the step also runs `work`. */
const noting = (work = 'true') =>
  sh(
    'printf "%s\\n" "$1" >> "said-$FORKHESTRA_AGENT_NAME"',
    `[ "$FORKHESTRA_AGENT_NAME" != main ] || { ${work}; }`,
  )

function makeChain(chain: object, files: Files): string {
  const config = JSON.stringify({ agents: { './helper': {} }, chains: { c: chain } })
  return makeProject({
    agent: noting(),
    helper: noting(),
    'forge/orch/chains.json': config,
    ...files,
  })
}

const PROMPT = '/read notes.md\n/push name=task "Look."\n/run\n\nGo.\n\n/push name=after "Tidy."'

const said = (cwd: string, name: string) => readFileSync(join(cwd, `said-${name}`), 'utf8')

test.each<[string, object, object, object, string[]]>([
  ['a step', { prompt: PROMPT }, {}, {}, []],
  ['a prompt file', { promptFile: 'p.md' }, {}, {}, []],
  ['a chain', {}, { prompt: PROMPT }, {}, []],
  ['an agent', {}, {}, { defaultPrompt: PROMPT }, []],
  ['the command line', {}, {}, {}, ['--prompt', PROMPT]],
  ['a file of the command line', {}, {}, {}, ['--prompt-file', 'p.md']],
])('the commands in the prompt of %s are carried out', async (_, step, chain, agent, args) => {
  const cwd = makeProject({
    agent: noting(),
    'p.md': PROMPT,
    'notes.md': 'notes',
    'forge/orch/chains.json': JSON.stringify({
      agents: { './agent': agent },
      chains: { c: { steps: [{ agent: './agent', ...step }], ...chain } },
    }),
  })
  expect((await forkhestra(['--chain', 'c', ...args], { cwd })).code).toBe(0)
  expect(said(cwd, 'main')).toMatch(/^These files .*\n\n<file [^]*>\nnotes\n<[^]*>\n\nGo\.\n$/)
  expect(said(cwd, 'task')).toBe('Look.\n')
  expect((await tasksOf(cwd)).map(({ name, state }) => [name, state])).toEqual([
    ['task', 'ended'],
    ['after', 'queued'],
  ])
})

test('tasks may read what the chain of their parent may read', async () => {
  const shared = makeProject({ 'rules.md': 'Be kind.' })
  const prompt = [
    `/push name=own "/read ${shared}/rules.md"`,
    `/push name=named agent=./helper "/read ${shared}/rules.md"`,
    '/run',
    'Go.',
  ].join('\n')
  const cwd = makeChain({ readRoots: [shared], steps: [{ agent: './agent', prompt }] }, {})
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(said(cwd, 'own')).toContain('\nBe kind.\n')
  expect(said(cwd, 'named')).toContain('\nBe kind.\n')
})

test('a raw prompt also makes the prompts of queued tasks raw', async () => {
  const work = 'forkhestra push name=task "/read notes.md"; forkhestra run-queue'
  const step = { agent: './agent', rawPrompt: true, prompt: '/read notes.md' }
  const cwd = makeChain({ steps: [step] }, { agent: noting(work), 'notes.md': 'notes' })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect([said(cwd, 'main'), said(cwd, 'task')]).toEqual(['/read notes.md\n', '/read notes.md\n'])
})

test('a value is still text after a resume', async () => {
  const step = { agent: './agent', prompt: '${TEXT}\nGo.\n${TEXT}' }
  const cwd = makeChain({ steps: [step] }, { agent: noting('[ -e mended ]') })
  expect((await forkhestra(['--chain', 'c', 'TEXT=/push evil'], { cwd })).code).toBe(1)
  writeFileSync(join(cwd, 'mended'), '')
  expect((await forkhestra(['resume'], { cwd })).code).toBe(0)
  expect(said(cwd, 'main')).toBe('/push evil\nGo.\n/push evil\n'.repeat(2))
  expect(await tasksOf(cwd)).toEqual([])
})

test('output of a check is not read as a command in the next prompt', async () => {
  const verify = ["echo '/push evil'; [ -e seen ] || { touch seen; false; }"]
  const step = { agent: './agent', iterations: 2, prompt: '/read notes.md', verify }
  const agent = noting('echo ORCHESTRA_COMPLETE')
  const cwd = makeChain({ steps: [step] }, { agent, 'notes.md': '/push evil\n/run\n' })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(said(cwd, 'main')).toContain('>\n/push evil\n</check-output')
  expect(await tasksOf(cwd)).toEqual([])
})

test('a loop continues when a file becomes too long for the prompt of a program', async () => {
  const work = [
    'head -c 150000 /dev/zero | tr "\\0" x > log.md',
    '[ "$FORKHESTRA_ITERATION" != 2 ] || echo ORCHESTRA_COMPLETE',
  ].join('; ')
  const step = { agent: './agent', iterations: 3, prompt: '/read log.md\nGo.' }
  const cwd = makeChain({ steps: [step] }, { agent: noting(work), 'log.md': 'short\n' })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(said(cwd, 'main')).toContain('>\nshort\n</file')
  expect(said(cwd, 'main')).toContain('error="Cannot include log.md: it is 146.5 KiB')
})

test('a queued task with a mistake in its prompt fails with its place and does nothing', async () => {
  const wrong = '/push name=inner "x"\n/run\n/push colour=red y\nGo.'
  const work = `forkhestra push name=wrong - < wrong.md; forkhestra run-queue; forkhestra receive --json > got`
  const step = { agent: './agent', prompt: 'Go.' }
  const cwd = makeChain({ steps: [step] }, { agent: noting(work), 'wrong.md': wrong })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  const { messages } = JSON.parse(readFileSync(join(cwd, 'got'), 'utf8')) as { messages: object[] }
  expect(messages).toMatchObject([
    {
      from: 'wrong',
      success: false,
      class: 'precondition',
      error: expect.stringContaining(
        "the prompt of task wrong:3:7  /push has no option 'colour'.\n  /push colour=red y\n        ^^^^^^",
      ),
    },
  ])
  expect((await tasksOf(cwd)).map(({ name }) => name)).toEqual(['wrong'])
})

test('~ in readRoots is refused with its place', async () => {
  const cwd = makeChain({ readRoots: ['~/shared'], steps: [{ agent: './agent' }] }, {})
  const { code, stderr } = await forkhestra(['--chain', 'c'], { cwd })
  expect(stderr).toContain(
    'chains.c.readRoots[0] is "~/shared", expected the full path of a folder: ~ is not expanded',
  )
  expect(code).toBe(2)
})

test('a file named several times is read once', async () => {
  const prompt = `${'/read notes.md\n'.repeat(2500)}Go.`
  const cwd = makeChain({ steps: [{ agent: './agent', prompt }] }, { 'notes.md': 'notes' })
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(said(cwd, 'main').match(/^notes$/gm)).toHaveLength(1)
})

test('a file named by several paths is read once', async () => {
  const cwd = makeChain(
    { steps: [{ agent: './agent', promptFile: 'p.md' }] },
    { 'notes.md': 'notes' },
  )
  writeFileSync(
    join(cwd, 'p.md'),
    `/read notes.md\n/read ./notes.md\n/read ${cwd}/notes.md\n/read forge/../notes.md\n/read link.md\nGo.`,
  )
  symlinkSync('notes.md', join(cwd, 'link.md'))
  const checked = await forkhestra(['prompt', 'check', 'p.md', '--json'], { cwd })
  const { setup } = JSON.parse(checked.stdout) as { setup: { bytes?: number; as?: string }[] }
  expect(setup.map(({ bytes, as }) => bytes ?? as)).toEqual([5, ...Array(4).fill('notes.md')])
  expect((await forkhestra(['--chain', 'c'], { cwd })).code).toBe(0)
  expect(said(cwd, 'main').match(/^notes$/gm)).toHaveLength(1)
})

test('files beyond the total limit of a prompt are error results', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `big-${index}.md`)
  const files = Object.fromEntries(names.map((name) => [name, 'x'.repeat(250 * 1024)]))
  const prompt = [...names.map((name) => `/read ${name}`), 'Go.'].join('\n')
  const cwd = makeProject({ ...files, 'p.md': prompt })
  const { code, stdout } = await forkhestra(['prompt', 'check', 'p.md', '--json'], { cwd })
  expect(code).toBe(0)
  expect(stdout.match(/"bytes":256000/g)).toHaveLength(16)
  expect(stdout.match(/the files of this prompt would exceed 4 MiB in total/g)).toHaveLength(4)
})

test('a prompt with too many commands is refused before any of them runs', async () => {
  const prompt = `${'/push x\n'.repeat(10_001)}Go.`
  const cwd = makeProject({ agent: noting(), 'p.md': prompt })
  const { code, stderr } = await forkhestra(['./agent', '--prompt-file', 'p.md'], { cwd })
  expect(`${code} ${stderr}`).toStartWith(
    '2 [forkhestra] Error: p.md:10001:1  A prompt can have at most 10000 commands.',
  )
  expect(await tasksOf(cwd)).toEqual([])
})

test('an unreadable file is reported once in each iteration', async () => {
  const cwd = makeProject({
    'forge/.keep': '',
    agent: sh('echo ran'),
    'prompt.md': '/read lost.md\n/read lost.md\nGo.\n',
  })
  const { stderr } = await forkhestra(['./agent:2', '--prompt-file', 'prompt.md'], { cwd })
  const warnings = stderr.split('\n').filter((line) => line.includes('lost.md'))
  expect(warnings).toEqual(
    Array.from({ length: 2 }, () => '[forkhestra] Warning: /read: File does not exist: lost.md'),
  )
})
