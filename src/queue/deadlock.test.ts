import { expect, test } from 'bun:test'
import { findCycles, NOTHING as FREE, releaseStuck, type Need } from './deadlock.ts'

const all = (...of: string[]): Need => [of]
const any = (...of: string[]): Need => of.map((id) => [id])

function cyclesOf(needs: Record<string, Need>): Record<string, readonly string[]> {
  const cycles = findCycles(new Map(Object.entries(needs)))
  return Object.fromEntries([...cycles].map(([id, others]) => [id, others.toSorted()]))
}

test('two agents that wait for each other form a cycle', () => {
  expect(cyclesOf({ a: all('b'), b: all('a') })).toEqual({ a: ['a', 'b'], b: ['a', 'b'] })
})

test('an agent that waits for itself forms a cycle', () => {
  expect(cyclesOf({ a: all('a'), b: FREE })).toEqual({ a: ['a'] })
})

test('an agent that waits for a cycle is not part of it', () => {
  const cycles = cyclesOf({ a: all('b'), b: all('a'), outside: all('a') })
  expect(Object.keys(cycles).toSorted()).toEqual(['a', 'b'])
})

test('an agent that waits for several is stuck if one of them is stuck', () => {
  const cycles = cyclesOf({ a: all('b', 'worker'), b: all('a'), worker: FREE })
  expect(cycles).toEqual({ a: ['a', 'b'], b: ['a', 'b'] })
})

test('an agent that waits for anyone is not stuck while another one works', () => {
  expect(cyclesOf({ a: any('b', 'worker'), b: all('a'), worker: FREE })).toEqual({})
})

test('an agent without anyone to wait for is not in a cycle', () => {
  expect(cyclesOf({ a: any() })).toEqual({})
})

test('two cycles are kept apart', () => {
  const cycles = cyclesOf({ a: all('b'), b: all('a'), c: any('d'), d: any('c') })
  expect(cycles).toEqual({ a: ['a', 'b'], b: ['a', 'b'], c: ['c', 'd'], d: ['c', 'd'] })
})

test('only stuck candidates are released, and that frees the agents that wait for them', () => {
  const needs = new Map(Object.entries({ a: any('b', 'c'), b: any('a', 'c'), c: any('a', 'b') }))
  expect([...releaseStuck(needs, ['c'])]).toEqual(['c'])
  expect([...findCycles(needs)]).toEqual([])
  expect([...releaseStuck(needs, ['a'])]).toEqual([])
})
