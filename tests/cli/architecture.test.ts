import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const ROOT = join(import.meta.dir, '../..')
const SOURCES = [...new Bun.Glob('src/*/**/*.ts').scanSync(ROOT)]
const MODULES = [...new Set(SOURCES.map(moduleOf))].toSorted()

/** The table of ARCHITECTURE.md: what each module may import. */
const TABLE = new Map<string, readonly string[]>(
  Array.from(
    readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').matchAll(
      /^\| `([\w-]+)` +\|[^|]+\| ([^|]+?) +\|$/gm,
    ),
    ([, name = '', imports = '']) => [name, imports.match(/[a-z][\w-]*/g) ?? []] as const,
  ),
)

function moduleOf(path: string): string {
  return path.split('/')[1]!
}

/** Type imports included. */
const ALL = /(?:\bfrom|\bimport\(?)\s*'(\.[^']+)'/g
/** Without the files that are loaded on use. */
const STATIC = /(?:\bfrom|\bimport)\s*'(\.[^']+)'/g
/** Without `import type`. */
const VALUES = /(?:^(?:import|export) (?!type\b)[^']*?|\bimport\()'(\.[^']+)'/gm

/** What is loaded together with a file. */
const LOADED = /^(?:import|export) (?!type\b)[^'()=]*?'(\.[^']+)'/gm

function importsOf(path: string, imports = ALL): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const found = text.matchAll(imports)
  return Array.from(found, ([, name = '']) => relative(ROOT, join(ROOT, path, '..', name)))
}

test('the table lists exactly the modules that exist', () => {
  expect([...TABLE.keys()].toSorted()).toEqual(MODULES)
})

test.each(MODULES)('%s imports only what the table allows', (name) => {
  const isAllowed = (target: string) => {
    const module = moduleOf(target)
    return !MODULES.includes(module) || module === name || TABLE.get(name)!.includes(module)
  }
  const forbidden = SOURCES.filter((path) => moduleOf(path) === name && !path.endsWith('.test.ts'))
    .flatMap((path) => importsOf(path).map((target) => ({ path, target })))
    .filter(({ target }) => target.startsWith('src/') && !isAllowed(target))
    .map(({ path, target }) => `${path} imports ${target}`)
  expect(forbidden).toEqual([])
})

/** `folders.ts` lets a run see that it has no tasks without loading the database. */
const TASK_INTERFACE = /^src\/tasks\/(?:database|render|status|folders)\.ts$/

test('other modules use the tasks through TaskDatabase', () => {
  const bypasses = SOURCES.filter((path) => moduleOf(path) !== 'tasks')
    .flatMap((path) => importsOf(path, VALUES).map((target) => ({ path, target })))
    .filter(({ target }) => moduleOf(target) === 'tasks' && !TASK_INTERFACE.test(target))
    .map(({ path, target }) => `${path} imports ${target}`)
  expect(bypasses).toEqual([])
})

test('the table has no cycle', () => {
  const done = new Set<string>()
  const isReady = (name: string) => TABLE.get(name)!.every((other) => done.has(other))
  for (const _ of MODULES) for (const name of MODULES) if (isReady(name)) done.add(name)
  expect([...done].toSorted()).toEqual(MODULES)
})

test('no import cycle between files, not even of types', () => {
  const left = new Map(
    SOURCES.filter((path) => !path.endsWith('.test.ts')).map((path) => [
      path,
      importsOf(path, STATIC),
    ]),
  )
  for (let size = 0; size !== left.size;) {
    size = left.size
    const imported = new Set([...left.values()].flat())
    for (const [path, imports] of left) {
      if (!imported.has(path) || !imports.some((target) => left.has(target))) left.delete(path)
    }
  }
  expect([...left.keys()]).toEqual([])
})

test('the folders of run import only those before them', () => {
  const folders = [
    'process',
    'progress',
    'worktrees',
    'merge',
    'policy',
    'branches',
    'agent',
    'subagents',
    'chain',
  ]
  const rank = (path: string) => folders.indexOf(path.split('/')[2]!)
  const backward = SOURCES.filter((path) => /^src\/run\/.+\//.test(path))
    .flatMap((path) => importsOf(path).map((target) => ({ path, target })))
    .filter(({ target }) => moduleOf(target) === 'run')
    .filter(({ path, target }) => rank(target) > rank(path) || rank(path) === -1)
    .map(({ path, target }) => `${path} imports ${target}`)
  expect(backward).toEqual([])
})

test('host gets the environment from its front end', () => {
  const readers = SOURCES.filter((path) => moduleOf(path) === 'host')
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => readFileSync(join(ROOT, path), 'utf8').includes('process.env'))
  expect(readers).toEqual([])
})

test('a chain without queues and tasks loads neither', () => {
  const loaded = new Set(['src/cli/run-chain.ts'])
  for (const path of loaded)
    for (const target of importsOf(path, LOADED)) if (target.endsWith('.ts')) loaded.add(target)
  const heavy = [...loaded].filter((path) => /^src\/(?:queue\/sqlite|tasks\/)/.test(path))
  expect(heavy).toEqual(['src/tasks/folders.ts'])
})
