import { describe, expect, test } from 'bun:test'
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject, sh } from '../support/project.ts'
import { runsOf } from '../support/record.ts'

// Only what was made here is removed by the way. Whatever is in a record, `clean` deals with it.

const RUNS = 'forge/orch/runs'

async function makeOne() {
  const cwd = makeProject({ ok: sh('echo fine'), 'forge/x': '', precious: 'mine\n' })
  expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
  const [own = ''] = runsOf(cwd)
  return { cwd, own, root: join(cwd, RUNS) }
}

/** Adds a record without a signature of this machine. */
function addForeign(root: string, own: string, id: string): string {
  const folder = join(root, id)
  cpSync(join(root, own), folder, { recursive: true })
  rmSync(join(folder, 'signature'))
  return folder
}

describe('records that were not created here', () => {
  test('are neither counted nor removed by a new run', async () => {
    const { cwd, own, root } = await makeOne()
    const ids = Array.from({ length: 60 }, (_, i) => `20200101-000000-old${i + 10}`)
    for (const id of ids) addForeign(root, own, id)
    expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
    expect(runsOf(cwd)).toHaveLength(62)
  })

  test('are listed by clean, and removed on request', async () => {
    const { cwd, own, root } = await makeOne()
    addForeign(root, own, '20200101-000000-old')
    const kept = 'kept: 20200101-000000-old: it was not created here'
    const dry = await forkhestra(['clean', '--keep', '1', '--dry-run'], { cwd })
    expect(dry.stdout).toBe(
      `${kept}\nNothing to remove in ${root}\nTo remove these as well: --with-foreign\n`,
    )
    const { stdout } = await forkhestra(['clean', '--keep', '0'], { cwd })
    expect(stdout).toBe(
      `${kept}\nremoved: ${own}\n1 run removed\nTo remove these as well: --with-foreign\n`,
    )
    const all = await forkhestra(['clean', '--keep', '0', '--with-foreign'], { cwd })
    expect(all.stdout).toBe('removed: 20200101-000000-old\n1 run removed\n')
    expect(runsOf(cwd)).toEqual([])
  })
})

const NAMES = ['lock', 'events.ndjson', 'queue.sqlite', 'signature', 'plan.json']
const SPECIAL = [
  ['FIFOs', (path: string) => void Bun.spawnSync(['mkfifo', path])],
  ['folders', (path: string) => mkdirSync(join(path, 'x'), { recursive: true })],
  ['links', (path: string) => symlinkSync('../../../../precious', path)],
  [
    'sockets',
    (path: string) => Bun.listen({ unix: path, socket: { data: () => undefined } }).unref(),
  ],
] as const

test.each(SPECIAL)('clean removes records with %s in place of files', async (_, make) => {
  const { cwd, own, root } = await makeOne()
  const ids = NAMES.map((name) => `20200101-000000-${name}`)
  const change = (folder: string, name: string) => {
    rmSync(join(folder, name), { force: true })
    writeFileSync(join(folder, 'lock'), '{}')
    rmSync(join(folder, name), { force: true })
    make(join(folder, name))
  }
  for (const [i, name] of NAMES.entries()) change(addForeign(root, own, ids[i]!), name)
  const all = join(root, '20200101-000000-all')
  cpSync(join(root, own), all, { recursive: true })
  for (const name of NAMES.toReversed()) {
    rmSync(join(all, name), { force: true })
    make(join(all, name))
  }
  const args = ['clean', '--keep', '0', '--with-foreign', '--with-queues']
  const { code, stdout, stderr } = await forkhestra(args, { cwd })
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('7 runs removed')
  expect(readdirSync(root).filter((name) => !/^\.(?:gitignore|at-work)$/.test(name))).toEqual([])
  expect(readFileSync(join(cwd, 'precious'), 'utf8')).toBe('mine\n')
})

/** Says whether the file may be removed by root as well. */
function setFixed(file: string, isFixed: boolean): void {
  Bun.spawnSync(['chattr', isFixed ? '+i' : '-i', file])
}

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)('clean names what it cannot remove, and removes the rest', async () => {
  const { cwd, own, root } = await makeOne()
  const stuck = '20200101-000000-stuck'
  setFixed(join(addForeign(root, own, stuck), 'plan.json'), true)
  try {
    for (const id of ['20200101-000000-one', '20210101-000000-two']) {
      addForeign(root, own, id)
      const args = ['clean', '--keep', '1', '--with-foreign']
      const { code, stdout, stderr } = await forkhestra(args, { cwd })
      expect([code, stderr]).toEqual([1, ''])
      expect(stdout).toContain(`removed: ${id}\n`)
      expect(stdout).toMatch(/^not removed: 20200101-000000-stuck: EPERM: .*\.removed-/m)
    }
    expect((await forkhestra(['ok'], { cwd })).code).toBe(0)
  } finally {
    for (const folder of [stuck, `.removed-${stuck}`])
      setFixed(join(root, folder, 'plan.json'), false)
  }
  expect((await forkhestra(['clean', '--keep', '0'], { cwd })).code).toBe(0)
  expect(readdirSync(root).toSorted()).toEqual(['.at-work', '.gitignore'])
})
