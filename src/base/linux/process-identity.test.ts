import { describe, expect, test } from 'bun:test'
import { lifeOf, processIdentity } from './process-identity.ts'

const MACHINE = '0123456789abcdef0123456789abcdef'
const ITSELF = '4026531836'
const CONTAINER = '4026532201'

test('this process is alive', () => {
  expect(lifeOf(processIdentity(process.pid)!)).toBe('alive')
})

describe('a process of another boot', () => {
  test.each([
    ['dead on the same machine', ITSELF, MACHINE, 'dead'],
    ['unknown on another machine', ITSELF, 'f'.repeat(32), 'unknown'],
    ['unknown on a machine without a name', ITSELF, '', 'unknown'],
    ['unknown in a container', CONTAINER, MACHINE, 'unknown'],
  ] as const)('is %s', (_, namespace, machine, life) => {
    const before = `${process.pid}:1:${namespace}@boot-1@${machine}`
    expect(lifeOf(before, `${namespace}@boot-2@${MACHINE}`)).toBe(life)
  })

  test('is unknown on machines without an id', () => {
    expect(lifeOf(`1:1:${ITSELF}@boot-1@`, `${ITSELF}@boot-2@`)).toBe('unknown')
  })
})
