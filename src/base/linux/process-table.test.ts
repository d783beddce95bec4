import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, sh } from '../../../tests/support/project.ts'
import { readOwnChildren, readProcesses, readVariable } from './process-table.ts'

test('a child is among the processes, and among our own children until it is waited for', async () => {
  const child = Bun.spawn(['sleep', '999'])
  try {
    const row = readProcesses().find(({ pid }) => pid === child.pid)
    expect(row).toEqual({ pid: child.pid, parent: process.pid, isDead: false })
    expect(readOwnChildren()).toContain(child.pid)
  } finally {
    child.kill('SIGKILL')
    await child.exited
  }
  expect(readOwnChildren()).not.toContain(child.pid)
})

test.if(process.platform === 'linux')('kernel threads are not processes', () => {
  const names = readProcesses().map(({ pid }) => {
    try {
      return readFileSync(`/proc/${pid}/comm`, 'utf8')
    } catch {
      return ''
    }
  })
  expect(names.filter((name) => /^(?:kthreadd|kworker\/.*|ksoftirqd\/.*)\n$/.test(name))).toEqual(
    [],
  )
})

test.if(process.platform === 'linux')(
  'the environment of a process is known even while it starts another program',
  async () => {
    const script = join(makeProject({ again: sh('exec "$0"') }), 'again')
    const child = Bun.spawn([script], { env: { ...process.env, SEEN: 'yes' } })
    try {
      const found = Array.from({ length: 3000 }, () => readVariable(child.pid, 'SEEN'))
      expect(new Set(found)).toEqual(new Set(['yes']))
    } finally {
      child.kill('SIGKILL')
      await child.exited
    }
  },
)
