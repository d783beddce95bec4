import { afterAll, expect, test } from 'bun:test'
import * as node from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as quick from './fs.ts'

// Each call is made twice, in folders of their own, and must come to the same: value, error and files.

type Fs = typeof quick

const root = node.realpathSync(node.mkdtempSync(join(tmpdir(), 'forkhestra-quick-')))
afterAll(() => node.rmSync(root, { recursive: true }))

let folders = 0

function makeFolder(): string {
  const folder = join(root, String(folders++))
  node.mkdirSync(join(folder, 'folder/below'), { recursive: true })
  node.writeFileSync(join(folder, 'file'), 'four bytes and an é\n')
  node.writeFileSync(join(folder, 'bom'), '\uFEFFx')
  node.writeFileSync(join(folder, 'not text'), new Uint8Array([0x61, 0xff, 0x62]))
  node.writeFileSync(join(folder, 'empty'), '')
  node.writeFileSync(join(folder, 'large'), 'x'.repeat(100_000))
  node.writeFileSync(join(folder, 'Ümläut 日本 🎉'), 'u')
  node.symlinkSync('file', join(folder, 'link'))
  node.symlinkSync('circle', join(folder, 'circle'))
  node.symlinkSync('nowhere', join(folder, 'dangling'))
  return folder
}

/** What came of a call, without what differs between two folders. */
function outcomeOf(fs: Fs, call: (fs: Fs, folder: string) => unknown): unknown {
  const folder = makeFolder()
  const plain = (text: string) => text.replaceAll(folder, '<folder>')
  let result: unknown
  try {
    result = { value: plainValue(call(fs, folder), plain) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    result = { code, message: plain(message) }
  }
  const files = node
    .readdirSync(folder)
    .toSorted()
    .map((name) => describe(join(folder, name), plain))
  return { result, files }
}

function describe(path: string, plain: (text: string) => string): unknown {
  const stat = node.lstatSync(path)
  return [plain(path), stat.mode, stat.isFile() ? node.readFileSync(path, 'latin1') : '']
}

function plainValue(value: unknown, plain: (text: string) => string): unknown {
  if (typeof value === 'string') return plain(value)
  if (value instanceof Uint8Array) return [...value]
  return value
}

const NAMES = [
  'file',
  'link',
  'circle',
  'dangling',
  'folder',
  'nowhere',
  'file/x',
  'Ümläut 日本 🎉',
]
const ODD = ['', 'a\0b', 'x'.repeat(300), `${'x/'.repeat(3000)}y`]

function calls(): Record<string, (fs: Fs, folder: string) => unknown> {
  const all: Record<string, (fs: Fs, folder: string) => unknown> = {
    'read a text': (fs, at) => fs.readFileSync(join(at, 'file'), 'utf8'),
    'read a text with a BOM': (fs, at) => fs.readFileSync(join(at, 'bom'), 'utf8'),
    'read what is no text': (fs, at) => fs.readFileSync(join(at, 'not text'), 'utf8'),
    'read bytes': (fs, at) => fs.readFileSync(join(at, 'not text')),
    'read nothing': (fs, at) => fs.readFileSync(join(at, 'empty'), 'utf8'),
    'read a large file': (fs, at) => fs.readFileSync(join(at, 'large'), 'utf8'),
    'read a file that does not say how long it is': (fs) =>
      fs.readFileSync('/proc/self/mounts', 'utf8'),
    'write a new file': (fs, at) => write(fs, join(at, 'new'), 'wx', 'té'),
    'write where one is': (fs, at) => write(fs, join(at, 'file'), 'wx', 'x'),
    'write at the end': (fs, at) => write(fs, join(at, 'file'), 'a', 'more'),
    'write at the end of a new one': (fs, at) => write(fs, join(at, 'new'), 'a', 'more'),
    'write bytes': (fs, at) => write(fs, join(at, 'new'), 'wx', new Uint8Array([1, 255])),
    'write nothing': (fs, at) => write(fs, join(at, 'new'), 'wx', ''),
    'write by a path': (fs, at) => fs.writeFileSync(join(at, 'new'), 'x'),
    'write to a full disk': (fs) => {
      const fd = fs.openSync('/dev/full', 'a')
      try {
        fs.writeFileSync(fd, 'x')
      } finally {
        fs.closeSync(fd)
      }
    },
    'write to what is closed': (fs) => fs.writeSync(9_999, new Uint8Array(1)),
    'read from what is closed': (fs) => fs.readSync(9_999, new Uint8Array(1), 0, 1, null),
    'close what is closed': (fs) => fs.closeSync(9_999),
    'sync what is closed': (fs) => fs.fsyncSync(9_999),
    'sync what cannot be synced': (fs) => withFile(fs, '/dev/null', fs.fsyncSync),
    'chmod what is closed': (fs) => fs.fchmodSync(9_999, 0o600),
    'ask about what is closed': (fs) => fs.fstatSync(9_999),
    'read a part': (fs, at) =>
      withFile(fs, join(at, 'file'), (fd) => {
        const bytes = new Uint8Array(10)
        return [fs.readSync(fd, bytes, 2, 4, null), fs.readSync(fd, bytes, 0, 0, null), ...bytes]
      }),
    'ask about an open file': (fs, at) =>
      withFile(fs, join(at, 'file'), (fd) => shown(fs.fstatSync(fd))),
    'change the mode': (fs, at) => withFile(fs, join(at, 'file'), (fd) => fs.fchmodSync(fd, 0o640)),
    'set the time': (fs, at) => {
      fs.utimesSync(join(at, 'file'), 1_700_000_000.25, 5_000_000_000.5)
      return node.statSync(join(at, 'file')).mtimeMs
    },
    'set the time of nothing': (fs, at) => fs.utimesSync(join(at, 'nowhere'), 1, 2),
    'rename over another': (fs, at) => fs.renameSync(join(at, 'file'), join(at, 'large')),
    'rename onto a folder': (fs, at) => fs.renameSync(join(at, 'file'), join(at, 'folder')),
    'rename what is not there': (fs, at) => fs.renameSync(join(at, 'nowhere'), join(at, 'x')),
    'make folders': (fs, at) => makeFolders(fs, join(at, 'a/b/c')),
    'make a folder that is there': (fs, at) => makeFolders(fs, join(at, 'folder')),
    'make a folder where a file is': (fs, at) => makeFolders(fs, join(at, 'file')),
  }
  for (const name of [...NAMES, ...ODD]) {
    const short = JSON.stringify(name.slice(0, 20))
    all[`stat ${short}`] = (fs, at) => shown(fs.statSync(join(at, name)))
    all[`stat ${short}, quietly`] = (fs, at) =>
      shown(fs.statSync(join(at, name), { throwIfNoEntry: false }))
    all[`lstat ${short}`] = (fs, at) =>
      shown(fs.lstatSync(join(at, name), { throwIfNoEntry: false }))
    all[`exists ${short}`] = (fs, at) => fs.existsSync(join(at, name))
    all[`open ${short}`] = (fs, at) => withFile(fs, join(at, name), () => 'opened')
    all[`read ${short}`] = (fs, at) => fs.readFileSync(join(at, name), 'utf8')
    all[`list ${short}`] = (fs, at) => fs.readdirSync(join(at, name)).toSorted()
    all[`remove ${short}`] = (fs, at) => fs.rmSync(join(at, name))
    all[`remove ${short} by force`] = (fs, at) => fs.rmSync(join(at, name), { force: true })
    all[`the real path of ${short}`] = (fs, at) => fs.realpathSync(join(at, name))
    all[`the target of ${short}`] = (fs, at) => fs.readlinkSync(join(at, name))
  }
  return all
}

/** The first folder that it made, if any, is a thing of which nobody asks. */
function makeFolders(fs: Fs, path: string): void {
  fs.mkdirSync(path, { recursive: true })
}

function write(fs: Fs, path: string, flags: string, content: string | Uint8Array): void {
  const fd = fs.openSync(path, flags, 0o644)
  fs.writeFileSync(fd, content)
  fs.fsyncSync(fd)
  fs.closeSync(fd)
}

function withFile<Result>(fs: Fs, path: string, use: (fd: number) => Result): Result {
  const fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

function shown(stat: ReturnType<Fs['lstatSync']>): unknown {
  if (stat === undefined) return undefined
  const { mode, size, mtime } = stat
  const kinds = [stat.isFile(), stat.isDirectory(), stat.isSymbolicLink(), stat.isCharacterDevice()]
  const isNow =
    Math.abs(stat.mtimeMs - Date.now()) < 60_000 && mtime.getTime() === Math.trunc(stat.mtimeMs)
  return { mode, size: stat.isFile() ? size : 0, isNow, hasInode: stat.ino > 0, kinds }
}

for (const [name, call] of Object.entries(calls())) {
  test(`does what node:fs does: ${name}`, () => {
    expect(outcomeOf(quick, call)).toEqual(outcomeOf(node as unknown as Fs, call))
  })
}

test.each([300, 1_000])('lists %i long names', (count) => {
  const folder = makeFolder()
  const names = Array.from({ length: count }, (_, at) => `${at} ${'ü'.repeat(90)}`)
  for (const name of names) node.writeFileSync(join(folder, 'folder/below', name), '')
  expect(quick.readdirSync(join(folder, 'folder/below')).toSorted()).toEqual(names.toSorted())
})

test('knows a device', () => {
  expect(quick.statSync('/dev/null').isCharacterDevice()).toBe(true)
})

test('tells of a file exactly what node:fs tells', () => {
  const path = join(makeFolder(), 'file')
  const [mine, other] = [quick.statSync(path), node.statSync(path)]
  expect([mine.ino, mine.size, mine.mtimeMs, mine.mode]).toEqual([
    other.ino,
    other.size,
    other.mtimeMs,
    other.mode,
  ])
  expect(mine.dev).toBe(quick.statSync(root).dev)
  expect(mine.dev).not.toBe(quick.statSync('/proc').dev)
})
