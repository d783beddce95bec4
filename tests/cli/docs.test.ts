import { expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { COMMAND_NAMES, FORKHESTRA as PROGRAM } from '../../src/cli/forkhestra.ts'
import { loadCommand } from '../../src/cli/program.ts'
import { eventSchema } from '../../src/records/events/schema.ts'
import { parseChainsFile } from '../../src/chain/parse/chains-file.ts'
import chainsSchema from '../../schema/chains.schema.json'
import { environment, forkhestra, FORKHESTRA } from '../support/forkhestra.ts'
import { makeProject, writeFiles } from '../support/project.ts'

// CONTRIBUTING.md describes how a page marks its examples.

const ROOT = join(import.meta.dir, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const find = (pattern: string) => [...new Bun.Glob(pattern).scanSync(ROOT)].toSorted()
const TALK = ['*.md', 'docs/**/*.md', 'examples/**/*.md'].flatMap(find)
const PAGES = TALK.filter((page) => page === 'README.md' || page.startsWith('docs/'))

interface Block {
  readonly language: string
  /** Path in the page's project, if the block names one. */
  readonly file: string | undefined
  readonly text: string
}

function blocksOf(markdown: string): Block[] {
  if (/^ +```console/m.test(markdown)) throw new Error('an indented console block is not run')
  const fences = markdown.matchAll(/^(`{3,})(\w*) ?(\S*)\n([^]*?)^\1$/gm)
  return Array.from(fences, ([, , language = '', file = '', text = '']) => ({
    language,
    file: file === '' ? undefined : file,
    text,
  }))
}

/** Runs the examples of a page from top to bottom in one folder, and throws if the output differs. */
function followPage(markdown: string): void {
  // The home folder of these tests is the project, so git must ignore what programs keep there.
  const project = makeProject({ '.config/git/ignore': '/.config\n/.state\n' })
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(ROOT, join(project, 'node_modules/forkhestra'))
  for (const { language, file, text } of blocksOf(markdown)) {
    if (language === 'jsonc') parseChainsFile(text, file ?? 'example')
    if (file !== undefined) writeFiles(project, { [file]: text })
    else if (language === 'ts') throw new Error(`a ts block needs a file name:\n${text}`)
    if (language === 'console') checkConsole(text, project)
  }
}

interface Exchange {
  readonly command: string
  readonly output: string
}

function checkConsole(text: string, project: string): void {
  const exchanges = text.split(/^\$ /m).filter((part) => part !== '')
  const expected = exchanges.map((part): Exchange => {
    const end = part.indexOf('\n')
    return { command: part.slice(0, end), output: part.slice(end + 1) }
  })
  if (!text.startsWith('$ ')) throw new Error(`a console block begins with a command:\n${text}`)
  const commands = expected.map(({ command }) => command)
  for (const [index, output] of runCommands(commands, project).entries()) {
    const { command, output: wanted } = expected[index]!
    if (!isAsShown(output, wanted))
      expect(`$ ${command}\n${output}`).toBe(`$ ${command}\n${wanted}`)
  }
}

/** Runs commands in one shell, so that `$?` is that of the previous command, and returns the output of each. */
function runCommands(commands: readonly string[], cwd: string): string[] {
  const seam = '<<< end of the command >>>'
  const lines = commands.map((line) => `${line}\ns=$?; printf '%s' '${seam}'; (exit $s)`)
  // Without the page's folder: readers do not have theirs on PATH either.
  const folders = [dirname(FORKHESTRA), join(ROOT, 'node_modules/.bin'), process.env['PATH']]
  const { stdout } = Bun.spawnSync(['sh', '-c', ['exec 2>&1', ...lines].join('\n')], {
    cwd,
    env: environment({ cwd, env: { PATH: folders.join(':'), FORKHESTRA_PARALLEL: '1' } }),
  })
  return stdout.toString().split(seam).slice(0, -1)
}

/** `…` on its own line matches any lines, and within a line any text. */
function isAsShown(output: string, wanted: string): boolean {
  const pattern = wanted
    .split(/^…\n/m)
    .map((part) => part.split('…').map(escapeRegExp).join('[^\\n]*'))
    .join('(?:[^\\n]*\\n)*?')
  return new RegExp(`^${pattern}$`).test(output)
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
}

test.each(PAGES)('the examples of %s print what the page shows', (page) => {
  followPage(read(page))
})

test('every page for users has examples that a test runs', () => {
  // A chat needs a terminal, MCP is for programs, and an index has only links.
  const without = new Set(['docs/README.md', 'docs/reference/chat.md', 'docs/reference/mcp.md'])
  const pages = PAGES.filter((page) => !page.startsWith('docs/internals/') && !without.has(page))
  expect(pages.length).toBeGreaterThan(12)
  for (const page of pages) {
    const consoles = blocksOf(read(page)).filter(({ language }) => language === 'console')
    expect([page, consoles.length > 0]).toEqual([page, true])
  }
})

test.each([
  ['an output that is not what the page shows', '```console\n$ echo a\nb\n```\n'],
  ['a line that the page does not show', "```console\n$ printf 'a\\nb\\n'\na\n```\n"],
  ['an exit code that is not what the page shows', '```console\n$ false\n$ echo $?\n0\n```\n'],
  ['an unknown option', '```console\n$ forkhestra --dry a\n```\n'],
  ['an unknown field of the configuration', '```jsonc\n{ "chain": {} }\n```\n'],
  ['a console block that is not run', '- so:\n\n  ```console\n  $ false\n  ```\n'],
  ['a program that is not run', '```ts\nthrow 1\n```\n'],
])('a page is refused for %s', (_, markdown) => {
  expect(() => followPage(markdown)).toThrow()
})

test('a page may leave out lines and parts of lines', () => {
  followPage("```console\n$ printf '1\\n2\\n3 at noon\\n'\n…\n3 at …\n```\n")
})

test('every link within the documentation has a target', () => {
  const broken = TALK.flatMap((page) =>
    Array.from(read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g), ([, link = '']) => link)
      .filter((link) => !leadsSomewhere(page, link))
      .map((link) => `${page}: ${link}`),
  )
  expect(broken).toEqual([])
})

function leadsSomewhere(page: string, link: string): boolean {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(ROOT, page) : resolve(ROOT, dirname(page), path)
  if (!existsSync(target)) return false
  if (anchor === undefined) return true
  const headings = readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)
  return Array.from(headings, ([, heading = '']) => anchorOf(heading)).includes(anchor)
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}

const inCode = (text: string, words: Iterable<string>) =>
  [...words].filter((word) => !text.includes(`\`${word}`))

test('the command-line reference names every command and option', async () => {
  const guide = read('docs/reference/command-line.md')
  const commands = await Promise.all(COMMAND_NAMES.map((name) => loadCommand(PROGRAM, name)))
  const options = commands.flatMap((command) =>
    command !== undefined && 'options' in command ? Object.keys(command.options) : [],
  )
  const named = guide.matchAll(/--([a-z-]+)/g)
  const names = new Set(Array.from(named, ([, name = '']) => name))
  expect(options.filter((option) => !names.has(option))).toEqual([])
  expect(COMMAND_NAMES.filter((name) => !guide.includes(`forkhestra ${name}`))).toEqual([])
})

test('the configuration reference names every field', () => {
  const names = fieldsOf(chainsSchema)
  expect(names.size).toBeGreaterThan(40)
  expect(inCode(read('docs/reference/configuration.md'), names)).toEqual([])
})

test('the events reference names every type, field, outcome, reason and refusal', () => {
  const page = read('docs/reference/events.md')
  const types = eventSchema.options.map(({ shape }) => shape.type.value)
  expect(inCode(page, [...types, ...fieldsOf(z.toJSONSchema(eventSchema))])).toEqual([])
  for (const option of eventSchema.options) {
    const { shape } = option
    if ('outcome' in shape) {
      const kinds = shape.outcome.options.map((outcome) => outcome.shape.kind.value)
      expect(inCode(page, kinds)).toEqual([])
    }
    if ('reason' in shape) expect(inCode(page, shape.reason.options)).toEqual([])
    if ('why' in shape && 'options' in shape.why)
      expect(inCode(page, shape.why.options)).toEqual([])
  }
})

/** The words of the first column of the table below a heading. */
function firstColumn(page: string, heading: string): string[] {
  const section = page.split(`## ${heading}\n`)[1]!.split('\n## ')[0]!
  return Array.from(section.matchAll(/^\| `(\w+)`/gm), ([, word = '']) => word).toSorted()
}

test('the outcomes reference lists exactly the outcomes and reasons that exist', () => {
  const page = read('docs/reference/outcomes.md')
  const shapes = eventSchema.options.map(({ shape }) => shape)
  const outcomes = shapes.flatMap((shape) => ('outcome' in shape ? shape.outcome.options : []))
  const reasons = shapes.flatMap((shape) => ('reason' in shape ? shape.reason.options : []))
  expect(firstColumn(page, 'Outcomes')).toEqual(
    outcomes.map(({ shape }) => shape.kind.value).toSorted(),
  )
  expect(firstColumn(page, 'Reasons')).toEqual([...new Set(reasons)].toSorted())
})

/** The names of all properties in a JSON Schema, at any depth. */
function fieldsOf(schema: unknown): Set<string> {
  if (typeof schema !== 'object' || schema === null) return new Set()
  const own = 'properties' in schema ? Object.keys(schema.properties ?? {}) : []
  return new Set([...own, ...Object.values(schema).flatMap((part) => [...fieldsOf(part)])])
}

test('every source file that the documentation names exists', () => {
  const files = ['src/**/*.ts', 'tests/**/*.ts', 'bench/**/*.ts', 'scripts/*'].flatMap(find)
  const isThere = (name: string) => files.some((file) => `/${file}`.endsWith(`/${name}`))
  const missing = TALK.flatMap((page) =>
    Array.from(prose(read(page)).matchAll(/`([\w./-]+\.ts)`/g), ([, name = '']) => name)
      .filter((name) => !isThere(name))
      .map((name) => `${page}: ${name}`),
  )
  expect(missing).toEqual([])
})

/** A page without the names of files that its examples create. */
function prose(markdown: string): string {
  const made = blocksOf(markdown).flatMap(({ file, language }) => (language === 'ts' ? file! : []))
  return made.reduce((text, file) => text.replaceAll(`\`${file}\``, ''), markdown)
}

const EXAMPLE = 'examples/forge/orch/chains.json'
const CHAINS = Object.entries(parseChainsFile(read(EXAMPLE), EXAMPLE).chains)

/** The examples as a user has them: a copy in a separate repository. */
function copyExamples(): string {
  const cwd = makeProject()
  cpSync(join(ROOT, 'examples'), cwd, { recursive: true })
  Bun.spawnSync(['git', 'init', '--quiet'], { cwd, env: environment({ cwd }) })
  return cwd
}

test.each(CHAINS)('the example chain %s completes', async (name, { steps }) => {
  const cwd = copyExamples()
  const { code, stdout, stderr } = await forkhestra(['--chain', name, 'FEATURE=login'], { cwd })
  const unused = name === 'hello' ? /^\[forkhestra\] Warning: Variable 'FEATURE' .*\n$/ : /^$/
  expect(stderr).toMatch(unused)
  expect(stdout).toContain(`complete (${steps.length}/${steps.length} steps)`)
  expect(code).toBe(0)
})

test('the example chain build leaves one commit per task', async () => {
  const cwd = copyExamples()
  await forkhestra(['--chain', 'build', 'FEATURE=login'], { cwd })
  const log = ['git', 'log', '--reverse', '--format=%s']
  const { stdout } = Bun.spawnSync(log, { cwd, env: environment({ cwd }) })
  expect(stdout.toString().trim().split('\n')).toEqual([
    "Plan the feature 'login'",
    'Build model',
    'Build view',
    'Build docs',
    'Review: 0 missing',
  ])
})

test('the example agents refuse to commit into an enclosing repository', async () => {
  const outer = copyExamples()
  const cwd = join(outer, 'inner')
  cpSync(join(ROOT, 'examples'), cwd, { recursive: true })
  const { code, stderr } = await forkhestra(['--chain', 'plan', 'FEATURE=login'], { cwd })
  expect(stderr).toContain('copy the examples to a folder of their own')
  expect(code).toBe(1)
})
