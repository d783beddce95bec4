import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { ownIdentity, processIdentity } from '../../base/linux/process-identity.ts'
import { holderOf, RunLock } from './run-lock.ts'

const TAKE = `
  import { RunLock } from ${JSON.stringify(join(import.meta.dir, 'run-lock.ts'))}
  const lock = RunLock.take(process.argv[1])
  console.log(lock instanceof RunLock ? 'mine' : 'of ' + lock.pid)
  await Bun.stdin.text()
`

/** A process that tries to take the lock, says how it went and then waits. */
async function taker(folder: string) {
  const child = Bun.spawn([process.execPath, '-e', TAKE, folder], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const said = await firstLine(child.stdout)
  const kill = async () => {
    child.kill('SIGKILL')
    await child.exited
  }
  return { said, pid: child.pid, kill }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = ''
  for await (const bytes of stream) {
    text += new TextDecoder().decode(bytes)
    if (text.includes('\n')) break
  }
  return text.trim()
}

const take = (folder: string) => RunLock.take(folder) as RunLock
const HERE = { pid: process.pid, identity: ownIdentity()! }

test('a lock names the process of the run until it is released', () => {
  const folder = makeProject()
  expect(holderOf(folder)).toBeUndefined()
  const lock = take(folder)
  expect(lock).toBeInstanceOf(RunLock)
  expect(holderOf(folder)).toMatchObject({ ...HERE, life: 'alive' })
  expect(Date.parse(holderOf(folder)!.since)).toBeLessThanOrEqual(Date.now())
  lock.release()
  expect(holderOf(folder)).toBeUndefined()
  expect(readdirSync(folder)).toEqual([])
})

test('a second attempt returns the holder, even in the same process', async () => {
  const folder = makeProject()
  take(folder)
  expect(RunLock.take(folder)).toEqual(holderOf(folder)!)
  const other = await taker(folder)
  expect(other.said).toBe(`of ${process.pid}`)
  await other.kill()
  expect(readdirSync(folder)).toEqual(['lock'])
})

test('the lock of a killed process is ignored', async () => {
  const folder = makeProject()
  const other = await taker(folder)
  expect(other.said).toBe('mine')
  expect(RunLock.take(folder)).toMatchObject({ pid: other.pid })
  expect(holderOf(folder)).toMatchObject({ pid: other.pid, life: 'alive' })
  await other.kill()
  expect(holderOf(folder)).toMatchObject({ pid: other.pid, life: 'dead' })
  expect(take(folder)).toBeInstanceOf(RunLock)
  expect(holderOf(folder)).toMatchObject(HERE)
})

/** Takes the locks of many folders, each at its moment, and says of which it has them. */
const RACE = `
  import { RunLock } from ${JSON.stringify(join(import.meta.dir, 'run-lock.ts'))}
  const [start, ...folders] = process.argv.slice(1)
  const mine = folders.map((folder, i) => {
    while (Date.now() < Number(start) + i * 5);
    return RunLock.take(folder) instanceof RunLock
  })
  console.log(JSON.stringify(mine))
  await Bun.stdin.text()
`

test('a process that is being killed is waited for', async () => {
  const folder = makeProject()
  const heavy = `globalThis.kept = Buffer.alloc(1024 ** 3, 1)\n${TAKE}`
  const child = Bun.spawn([process.execPath, '-e', heavy, folder], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  expect(await firstLine(child.stdout)).toBe('mine')
  child.kill('SIGKILL')
  expect(RunLock.take(folder)).toBeInstanceOf(RunLock)
  await child.exited
})

test('one of many processes replaces a dead holder', async () => {
  const lock = JSON.stringify({ pid: 1, identity: '', since: '' })
  const folders = Array.from({ length: 100 }, () => makeProject({ lock }))
  const start = String(Date.now() + 1000)
  const racers = Array.from({ length: 4 }, () =>
    Bun.spawn([process.execPath, '-e', RACE, start, ...folders], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    }),
  )
  // All must answer before any exits: the lock of an exited process is free.
  const answers = await Promise.all(
    racers.map(async ({ stdout }) => JSON.parse(await firstLine(stdout)) as boolean[]),
  )
  for (const { stdin } of racers) void stdin.end()
  await Promise.all(racers.map(({ exited }) => exited))
  const winners = folders.map((_, i) => answers.filter((mine) => mine[i]).length)
  expect(winners).toEqual(folders.map(() => 1))
})

describe('a lock', () => {
  const held = (identity: string) => {
    const holder = { pid: 1, identity, since: new Date(0).toISOString() }
    const folder = makeProject({ lock: JSON.stringify(holder) })
    return { folder, holder }
  }

  test('of another machine counts, because its process cannot be checked', () => {
    const { folder, holder } = held('1:77:4026531836@some-boot@some-machine')
    expect(holderOf(folder)).toEqual({ ...holder, life: 'unknown' })
    expect(RunLock.take(folder)).toMatchObject(holder)
  })

  test('of a process whose pid was reused does not', () => {
    const [, , place] = HERE.identity.split(':')
    const { folder } = held(`${process.pid}:1:${place}`)
    expect(holderOf(folder)?.life).toBe('dead')
    expect(take(folder)).toBeInstanceOf(RunLock)
  })

  test.each(['', '{"pid":1', '\0\0\0\0', '{}', 'null'])('that holds %j does not', (content) => {
    const folder = makeProject({ lock: content })
    expect(holderOf(folder)).toMatchObject({ life: 'dead' })
    expect(take(folder)).toBeInstanceOf(RunLock)
    expect(holderOf(folder)).toMatchObject(HERE)
  })
})

test('a process that lost the lock does not remove that of another', () => {
  const folder = makeProject()
  const lock = take(folder)
  const pid = process.ppid
  const other = JSON.stringify({ pid, identity: processIdentity(pid), since: '' })
  writeFileSync(join(folder, 'lock'), other)
  lock.release()
  expect(readFileSync(join(folder, 'lock'), 'utf8')).toBe(other)
})

test('releasing a lock in a deleted folder does nothing', () => {
  const folder = makeProject({ 'r1/x': '' })
  const lock = take(join(folder, 'r1'))
  Bun.spawnSync(['rm', '-r', join(folder, 'r1')])
  lock.release()
  expect(existsSync(join(folder, 'r1'))).toBe(false)
})
