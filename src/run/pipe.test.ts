import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { startChild, type Child } from './child.ts'
import type { Pipe } from './pipe.ts'

/** Longer than any test: nobody listens before the end. */
const NEVER_MS = 600_000

function start(script: string, listenAfterMs: number): Child {
  const argv = ['/bin/sh', '-c', script]
  const env = { PATH: process.env['PATH'] ?? '' }
  return startChild(
    { kind: 'process', argv, env: {}, decode: () => undefined },
    process.cwd(),
    env,
    listenAfterMs,
  )
}

async function allOf(pipe: Pipe): Promise<string> {
  const parts: Uint8Array[] = []
  for (let bytes = await pipe.read(); bytes !== undefined; bytes = await pipe.read())
    parts.push(bytes)
  await pipe.close()
  return Buffer.concat(parts).toString()
}

test('what was said before anybody listened is read at the end of the process', async () => {
  const { out, err, exited } = start('echo one; echo two >&2; echo three', NEVER_MS)
  expect(await Promise.all([allOf(out), allOf(err)])).toEqual(['one\nthree\n', 'two\n'])
  expect(await exited).toEqual({ kind: 'exited', code: 0 })
})

test('a process that says nothing is read to its end', async () => {
  const { out, err, exited } = start('exit 3', NEVER_MS)
  expect(await Promise.all([allOf(out), allOf(err)])).toEqual(['', ''])
  expect(await exited).toEqual({ kind: 'exited', code: 3 })
})

test('more than a pipe holds does not keep the process from going on', async () => {
  const { out, err } = start('head -c 2000000 /dev/zero', 1)
  expect((await Promise.all([allOf(out), allOf(err)])).map(({ length }) => length)).toEqual([
    2_000_000, 0,
  ])
})

test('who speaks after the process that has started it is still heard', async () => {
  const gate = join(makeProject(), 'gate')
  const { out, err, exited } = start(
    `mkfifo ${gate}; { read word < ${gate}; echo late; } &`,
    NEVER_MS,
  )
  await exited
  writeFileSync(gate, 'go\n')
  expect(await Promise.all([allOf(out), allOf(err)])).toEqual(['late\n', ''])
})

test('a pipe that is closed before anybody has listened is at its end', async () => {
  const child = start('sleep 60', NEVER_MS)
  const read = child.out.read()
  await Promise.all([child.out.close(), child.err.close()])
  expect(await read).toBeUndefined()
  child.signal('SIGKILL')
  expect(await child.exited).toEqual({ kind: 'signalled', signal: 'SIGKILL' })
})
