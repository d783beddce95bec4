import { expect, test } from 'bun:test'
import { utimesSync } from 'node:fs'
import { join } from 'node:path'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'

/** From the oldest to the newest. */
const NAMES = ['src/old.ts', 'README.md', 'src/deep/new.ts', 'src/ü 日本.tsx', '.env', "it's"]

function makeFixtures() {
  const workspace = makeWorkspace(Object.fromEntries(NAMES.map((name) => [name, 'x'])))
  for (const [at, name] of NAMES.entries()) utimesSync(join(workspace.cwd, name), at + 1, at + 1)
  return workspace
}

const FOUND: readonly (readonly [object, string])[] = [
  [{ pattern: '*.ts' }, 'src/deep/new.ts\nsrc/old.ts'],
  [{ pattern: 'src/*.ts' }, 'src/old.ts'],
  [{ pattern: './src/**/*.{ts,tsx}' }, 'src/ü 日本.tsx\nsrc/deep/new.ts\nsrc/old.ts'],
  [{ pattern: '**/*.ts', path: 'src/deep' }, 'src/deep/new.ts'],
  [{ pattern: '**' }, NAMES.toReversed().join('\n')],
  [{ pattern: "it's" }, "it's"],
  [{ pattern: '*.py' }, 'No files.'],
  [{ pattern: '[' }, 'No files.'],
]

test.each(FOUND)('%j finds files, the newest first', async (input, text) => {
  expect(await callerIn(makeFixtures())('glob', input)).toEqual({ text })
})

test('a pattern may be absolute within the project', async () => {
  const workspace = makeFixtures()
  const { text } = await callerIn(workspace)('glob', { pattern: `${workspace.cwd}/src/*.ts` })
  expect(text).toBe('src/old.ts')
})

test('of many files the newest are named', async () => {
  const names = Array.from({ length: 250 }, (_, at) => `f${at}`)
  const workspace = makeWorkspace(Object.fromEntries(names.map((name) => [name, ''])))
  utimesSync(join(workspace.cwd, 'f200'), 2e9, 2e9)
  const { text } = await callerIn(workspace)('glob', { pattern: 'f*' })
  const lines = text.split('\n')
  expect(lines[0]).toBe('f200')
  expect(lines).toHaveLength(201)
  expect(lines.at(-1)).toBe(
    '[only the newest of 250; narrow the search with pattern, path or glob]',
  )
})
