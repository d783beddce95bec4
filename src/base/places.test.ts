import { expect, test } from 'bun:test'
import { closeSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { openInside, pathInside } from './places.ts'

function makePlaces() {
  const elsewhere = makeProject({ 'secret.txt': 'x' })
  const root = makeProject({ 'shared.txt': 'x' })
  const cwd = makeProject({ 'src/a.ts': 'x' })
  const links: Record<string, string> = {
    out: elsewhere,
    dangling: join(elsewhere, 'no-such-file'),
    within: 'src/new.ts',
    chain: 'out/deep',
    circle: 'circle',
    root,
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(cwd, name))
  return { cwd, elsewhere, root, places: { cwd, roots: [root] } }
}

test('links of a path are followed, even if the file does not exist yet', () => {
  const { cwd, root, places } = makePlaces()
  const cases: readonly (readonly [string, string])[] = [
    ['src/a.ts', join(cwd, 'src/a.ts')],
    ['src/../new/deep/er.ts', join(cwd, 'new/deep/er.ts')],
    ['within', join(cwd, 'src/new.ts')],
    ['root/new.ts', join(root, 'new.ts')],
    [join(root, 'shared.txt'), join(root, 'shared.txt')],
    ['circle', join(cwd, 'circle')],
    ['.', cwd],
  ]
  for (const [path, real] of cases) expect([path, pathInside(path, places)]).toEqual([path, real])
})

test('a path that leads outside is refused, whether it exists or not', () => {
  const { cwd, elsewhere, places } = makePlaces()
  const paths = [
    '..',
    '../x',
    'src/../../x',
    '/etc/passwd',
    '/no/such/file',
    join(elsewhere, 'secret.txt'),
    'out',
    'out/secret.txt',
    'out/no-such-file',
    'out/no/such/folder',
    'dangling',
    'chain',
    'chain/x',
    `${cwd}-sibling/x`,
  ]
  for (const path of paths) {
    expect([path, pathInside(path, places)]).toEqual([path, undefined])
    expect(openInside(path, places)).toEqual({ kind: 'outside' })
  }
})

test('files inside are opened, and a failure says why', () => {
  const { places, root } = makePlaces()
  const opened = openInside('root/shared.txt', places)
  if (opened.kind !== 'opened') throw new Error(opened.kind)
  closeSync(opened.fd)
  expect(opened.path).toBe(join(root, 'shared.txt'))
  expect(openInside('no-such-file', places)).toMatchObject({ kind: 'failed' })
  expect(openInside('circle', places)).toMatchObject({ kind: 'failed' })
  expect(openInside('a\0b', places)).toMatchObject({ kind: 'failed' })
})
