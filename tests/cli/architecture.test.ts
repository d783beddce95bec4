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

function importsOf(path: string): string[] {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const found = text.matchAll(/(?:\bfrom|\bimport\(?)\s*'(\.[^']+)'/g)
  return Array.from(found, ([, name = '']) => relative(ROOT, join(ROOT, path, '..', name)))
}

test('the table names every module, and no other', () => {
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

test('the table has no circle', () => {
  const done = new Set<string>()
  const isReady = (name: string) => TABLE.get(name)!.every((other) => done.has(other))
  for (const _ of MODULES) for (const name of MODULES) if (isReady(name)) done.add(name)
  expect([...done].toSorted()).toEqual(MODULES)
})
