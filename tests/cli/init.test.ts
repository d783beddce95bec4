import { expect, test } from 'bun:test'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promptFiles } from '../../src/chain/builtins/agents.ts'
import { environment, forkhestra, FORKHESTRA, type Finished } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'

const CONFIGURATION = ['forge/orch/chains.json', 'forge/orch/chains.schema.json']
const SPECS = ['PLAN', 'SPECS', 'AGENTS'].map((name) => `forge/orch/specs/${name}.md`)
const PERSONAS = ['worker', 'task-builder', 'supervisor'].map(
  (name) => `.agents/personas/${name}.md`,
)
const ALL = [...CONFIGURATION, ...SPECS, ...PERSONAS]

const filesIn = (cwd: string) =>
  readdirSync(cwd, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
    .toSorted()

const lines = (word: string, paths: readonly string[], why = '') =>
  paths.map((path) => `${word} ${path}${why}\n`).join('')

const NEXT = `
Next: create a git repository, without which agents cannot commit:
  git init
Then describe what to build in forge/orch/specs/PLAN.md and SPECS.md, then run
  forkhestra --chain build-all
`

const OFFER = `
To tell coding agents about forkhestra in AGENTS.md, run
  forkhestra init --agents-md
`

const AGENTS_MD = readFileSync(join(import.meta.dir, '../../AGENTS.md'), 'utf8')
/** The section for users' projects, at the end of this repository's AGENTS.md. */
const SECTION = AGENTS_MD.slice(AGENTS_MD.indexOf('## forkhestra\n'))

test('a new project gets a configuration and templates, and the next step is printed', async () => {
  const cwd = makeProject()
  const { code, stdout, stderr } = await forkhestra(['init'], { cwd })
  expect(stderr).toBe('')
  expect(stdout).toBe(lines('Wrote', ALL) + NEXT + OFFER)
  expect(code).toBe(0)
  expect(filesIn(cwd)).toEqual(ALL.toSorted())
})

test('the written files are valid and can be run', async () => {
  const claude = sh('echo ORCHESTRA_COMPLETE')
  const cwd = makeProject({ claude })
  const env = { IS_SANDBOX: '1' }
  await forkhestra(['init', '--eject-prompts'], { cwd })
  const { code, stdout } = await forkhestra(['validate'], { cwd, env })
  expect(stdout).toBe('forge/orch/chains.json is valid: 1 chain, 1 agent.\n')
  expect(code).toBe(0)
  const run = await forkhestra(['--chain', 'docs', 'TOPIC=usage'], { cwd, env })
  expect(run.stdout).toContain('[forkhestra] Complete after 1 iteration')
  expect(run.code).toBe(0)
})

test('existing files are not changed, and the rest is written', async () => {
  const cwd = makeProject({ 'forge/orch/specs/PLAN.md': 'Mine\n' })
  const [plan = '', ...others] = SPECS
  const first = await forkhestra(['init'], { cwd })
  expect(first.stdout).toBe(
    lines('Wrote', [...CONFIGURATION, ...others, ...PERSONAS]) +
      lines('Skipped:', [plan], ' (it already exists)') +
      NEXT +
      OFFER,
  )
  const second = await forkhestra(['init'], { cwd })
  expect(second.stdout).toBe(lines('Skipped:', ALL, ' (it already exists)') + NEXT + OFFER)
  expect(second.code).toBe(0)
  expect(readFileSync(join(cwd, plan), 'utf8')).toBe('Mine\n')
})

test('an existing persona is kept, and /read works with all personas', async () => {
  const mine = 'I work slowly.\n'
  const agent = sh('echo "$1"')
  const cwd = makeProject({ agent, '.agents/personas/worker.md': mine })
  const { stdout } = await forkhestra(['init'], { cwd })
  expect(stdout).toContain('Skipped: .agents/personas/worker.md (it already exists)\n')
  const prompt = PERSONAS.map((path) => `/read ${path}\n`).join('')
  const run = await forkhestra(['./agent', '-p', `${prompt}Begin.`], { cwd })
  expect(run.stdout).toContain(mine)
  expect(run.stdout).toContain('# Task builder\n')
  expect(run.stdout).toContain('# Supervisor\n')
  expect(run.code).toBe(0)
})

test('if a file has the name of the personas folder, nothing is written', async () => {
  const cwd = makeProject({ '.agents': 'mine\n' })
  const { code, stderr } = await forkhestra(['init'], { cwd })
  expect(stderr).toContain('.agents/personas/worker.md cannot be written: .agents is not a folder')
  expect(code).toBe(1)
  expect(filesIn(cwd)).toEqual(['.agents'])
})

test('--eject-prompts also writes every built-in prompt, complete', async () => {
  const cwd = makeProject({ 'forge/orch/prompts/builder.md': 'Mine\n' })
  const { code, stdout } = await forkhestra(['init', '--eject-prompts'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('Skipped: forge/orch/prompts/builder.md (it already exists)\n')
  for (const [path, text] of promptFiles()) {
    const written = readFileSync(join(cwd, path), 'utf8')
    expect(written).toBe(path.endsWith('prompts/builder.md') ? 'Mine\n' : text)
  }
})

test('--agents-md writes a missing AGENTS.md, once', async () => {
  const cwd = makeProject()
  const first = await forkhestra(['init', '--agents-md'], { cwd })
  expect(first.stderr).toBe('')
  expect(first.stdout).toBe(lines('Wrote', [...ALL, 'AGENTS.md']) + NEXT)
  expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe(SECTION)
  const second = await forkhestra(['init', '--agents-md', '--json'], { cwd })
  expect(JSON.parse(second.stdout)).toMatchObject({
    written: [],
    left: [
      ...ALL.map((path) => ({ path })),
      { path: 'AGENTS.md', why: 'it already has the section' },
    ],
  })
  expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe(SECTION)
})

test.each([
  ['AGENTS.md', '# Ours\n\nBe kind.\n', '\n'],
  ['CLAUDE.md', '# Ours, without a last newline', '\n\n'],
  ['AGENTS.md', '', ''],
])('init appends to %s only with --agents-md', async (path, mine, gap) => {
  const cwd = makeProject({ [path]: mine })
  const plain = await forkhestra(['init'], { cwd })
  expect(plain.stdout).toEndWith(NEXT + OFFER.replace('AGENTS.md', path))
  expect(readFileSync(join(cwd, path), 'utf8')).toBe(mine)
  const { stdout } = await forkhestra(['init', '--agents-md'], { cwd })
  expect(stdout).toStartWith(`Added a section to ${path}\n`)
  expect(stdout).toEndWith(NEXT)
  expect(readFileSync(join(cwd, path), 'utf8')).toBe(mine + gap + SECTION)
  expect(filesIn(cwd)).toEqual([...ALL, path].toSorted())
})

test('if AGENTS.md is not text, nothing is written', async () => {
  const cwd = makeProject()
  writeFileSync(join(cwd, 'AGENTS.md'), new Uint8Array([0xff, 0xfe]))
  const { code, stderr } = await forkhestra(['init', '--agents-md'], { cwd })
  expect(stderr).toBe(
    '[forkhestra] Error: AGENTS.md is not UTF-8 text\n  Fix or move the file. Nothing was written.\n',
  )
  expect(code).toBe(2)
  expect(filesIn(cwd)).toEqual(['AGENTS.md'])
})

test('nothing is written through a link to a file outside the project', async () => {
  const folder = makeProject({ '.profile': 'mine\n', 'clone/src/a': '' })
  const cwd = join(folder, 'clone')
  symlinkSync('../.profile', join(cwd, 'AGENTS.md'))
  const { code, stderr } = await forkhestra(['init', '--agents-md', '--cwd', cwd], { cwd })
  expect(stderr).toBe(
    '[forkhestra] Error: AGENTS.md is a link to a location outside the project\n  Fix or move the file. Nothing was written.\n',
  )
  expect(code).toBe(2)
  expect(readFileSync(join(folder, '.profile'), 'utf8')).toBe('mine\n')
  expect(filesIn(cwd)).toEqual(['AGENTS.md', 'src/a'])
})

test.each([
  ['forge', ['init']],
  ['forge/orch', ['init']],
  ['.agents', ['init', '--agents-md']],
  ['forge/orch/prompts', ['init', '--eject-prompts']],
])('nothing is written through a committed link to a folder outside: %s', async (link, args) => {
  const folder = makeProject({ 'mine/.keep': '', 'clone/src/a': '' })
  const cwd = join(folder, 'clone')
  mkdirSync(dirname(join(cwd, link)), { recursive: true })
  symlinkSync(join(folder, 'mine'), join(cwd, link))
  await Bun.$`git init -q && git add -A`.cwd(cwd).quiet()
  const { code, stdout, stderr } = await forkhestra(args, { cwd })
  expect(stderr).toBe(
    `[forkhestra] Error: ${link} is a link to a location outside the project\n  Replace it with a folder, or remove the link from git. Nothing was written.\n`,
  )
  expect(stdout).toBe('')
  expect(code).toBe(2)
  expect(filesIn(join(folder, 'mine'))).toEqual(['.keep'])
  expect(filesIn(join(cwd, 'src'))).toEqual(['a'])
  expect(existsSync(join(cwd, 'AGENTS.md'))).toBe(false)
})

test('an uncommitted link to a folder is followed', async () => {
  const folder = makeProject({ 'mine/.keep': '', 'clone/src/a': '' })
  const cwd = join(folder, 'clone')
  await Bun.$`git init -q`.cwd(cwd).quiet()
  symlinkSync('../mine', join(cwd, 'forge'))
  const { code, stdout } = await forkhestra(['init'], { cwd })
  expect(code).toBe(0)
  expect(stdout).toContain('\nNext: describe what to build in')
  expect(existsSync(join(folder, 'mine/orch/chains.json'))).toBe(true)
})

test('if another file cannot be written, AGENTS.md is unchanged', async () => {
  const cwd = makeProject({ 'AGENTS.md': 'Mine\n', '.agents': 'a file\n' })
  const { code } = await forkhestra(['init', '--agents-md'], { cwd })
  expect(code).toBe(1)
  expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe('Mine\n')
})

test('nothing is written that would hide existing configuration or specs', async () => {
  const cwd = makeProject({
    'forge/chains.json': '{ "chains": {} }',
    'ralph/SPECS.md': 'All of it\n',
  })
  const { code, stdout } = await forkhestra(['init'], { cwd })
  expect(stdout).toBe(
    lines('Wrote', PERSONAS) +
      lines('Skipped:', CONFIGURATION, ' (forge/chains.json is used)') +
      lines('Skipped:', SPECS, ' (the specs are in ralph)') +
      NEXT.replace('forge/orch/specs', 'ralph') +
      OFFER,
  )
  expect(code).toBe(0)
  expect(filesIn(cwd)).toEqual([...PERSONAS, 'forge/chains.json', 'ralph/SPECS.md'].toSorted())
})

test('--cwd selects the project, and --json prints one object', async () => {
  const cwd = makeProject({ 'sub/forge/orch/specs/PLAN.md': 'Mine\n' })
  const { stdout } = await forkhestra(['init', '--cwd', 'sub', '--json'], { cwd })
  const [plan = '', ...others] = SPECS
  expect(JSON.parse(stdout)).toEqual({
    ok: true,
    written: [...CONFIGURATION, ...others, ...PERSONAS],
    left: [{ path: plan, why: 'it already exists' }],
    next: 'forkhestra --chain build-all',
  })
  expect(existsSync(join(cwd, 'forge'))).toBe(false)
})

test.each([
  ['forge', 'forge/orch/chains.json cannot be written: forge is not a folder'],
  [
    'forge/orch/specs',
    'forge/orch/specs/PLAN.md cannot be written: forge/orch/specs is not a folder',
  ],
])('if %s is a file instead of a folder, nothing is written', async (path, words) => {
  const cwd = makeProject({ [path]: 'a file\n' })
  const { code, stdout, stderr } = await forkhestra(['init'], { cwd })
  expect(stderr).toBe(`[forkhestra] Error: ${words}
  Nothing was written. Move or remove the file that is in the way, and retry.
`)
  expect(stdout).toBe('')
  expect(code).toBe(1)
  expect(filesIn(cwd)).toEqual([path])
})

test('a folder or a broken link in place of a file is refused', async () => {
  const cwd = makeProject()
  mkdirSync(join(cwd, 'forge/orch/specs'), { recursive: true })
  symlinkSync('/no/such/file', join(cwd, 'forge/orch/specs/SPECS.md'))
  const link = await forkhestra(['init'], { cwd })
  expect(link.stderr).toBe(`[forkhestra] Error: forge/orch/specs/SPECS.md is not a regular file.
  Move it out of the way. Nothing was written.
`)
  expect(link.code).toBe(2)
  mkdirSync(join(cwd, 'forge/orch/chains.json'))
  const folder = await forkhestra(['init', '--json'], { cwd })
  expect(JSON.parse(folder.stdout)).toMatchObject({ ok: false, problems: [{}] })
  expect(folder.code).toBe(2)
  expect(filesIn(cwd)).toEqual(['forge/orch/specs/SPECS.md'])
})

/** Runs init in a namespace whose file system refuses writes, even for root. */
async function initUnder(program: readonly string[], cwd: string): Promise<Finished> {
  const child = Bun.spawn([...program, 'init'], {
    cwd,
    env: environment({ cwd }),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

test('a read-only disk is reported as one error', async () => {
  const cwd = makeProject()
  const mount = 'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD"'
  const program = ['unshare', '-rm', 'sh', '-c', `${mount} && exec "$0" "$@"`, FORKHESTRA]
  const { code, stdout, stderr } = await initUnder(program, cwd)
  expect(stderr).toStartWith('[forkhestra] Error: forge/orch/chains.json cannot be written: EROFS')
  expect(stderr.split('\n')).toHaveLength(3)
  expect(stdout).toBe('')
  expect(code).toBe(1)
})

test('if the disk fills up, all written files are removed', async () => {
  const cwd = makeProject()
  // Space for the first files only: each file takes at least one page.
  const mount = 'mount -t tmpfs -o size=20k tmpfs "$PWD" && cd "$PWD"'
  const script = `${mount} && "$0" "$@"; code=$?; ls -A; exit $code`
  const { code, stdout, stderr } = await initUnder(
    ['unshare', '-rm', 'sh', '-c', script, FORKHESTRA],
    cwd,
  )
  expect(stderr).toContain('cannot be written: ENOSPC')
  expect(stderr).toContain('Nothing was written.')
  expect(stdout).toBe('')
  expect(code).toBe(1)
})

test('an extra argument is refused', async () => {
  const cwd = makeProject()
  const { code, stderr } = await forkhestra(['init', 'here'], { cwd })
  expect(stderr).toStartWith("[forkhestra] Error: Unexpected argument 'here'.\n")
  expect(code).toBe(2)
  expect(filesIn(cwd)).toEqual([])
})
