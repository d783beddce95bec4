import { expect, test } from 'bun:test'
import { findCycles, releaseStuck } from './deadlock.ts'
import type { Need } from './deadlock.ts'

const FREE: Need = { kind: 'nothing' }
const all = (...of: string[]): Need => ({ kind: 'all', of })
const any = (...of: string[]): Need => ({ kind: 'any', of })

function circlesOf(needs: Record<string, Need>): Record<string, readonly string[]> {
  const circles = findCycles(new Map(Object.entries(needs)))
  return Object.fromEntries([...circles].map(([id, others]) => [id, others.toSorted()]))
}

test('two that wait for each other are a circle', () => {
  expect(circlesOf({ a: all('b'), b: all('a') })).toEqual({ a: ['a', 'b'], b: ['a', 'b'] })
})

test('one that waits for itself is a circle', () => {
  expect(circlesOf({ a: all('a'), b: FREE })).toEqual({ a: ['a'] })
})

test('who waits for a circle is not in it', () => {
  const circles = circlesOf({ a: all('b'), b: all('a'), outside: all('a') })
  expect(Object.keys(circles).toSorted()).toEqual(['a', 'b'])
})

test('who waits for several is stuck when one of them is, though another works', () => {
  const circles = circlesOf({ a: all('b', 'worker'), b: all('a'), worker: FREE })
  expect(circles).toEqual({ a: ['a', 'b'], b: ['a', 'b'] })
})

test('who waits for anybody goes on while somebody works', () => {
  expect(circlesOf({ a: any('b', 'worker'), b: all('a'), worker: FREE })).toEqual({})
})

test('nobody at all to wait for is no circle', () => {
  expect(circlesOf({ a: any() })).toEqual({})
})

test('two circles are told apart', () => {
  const circles = circlesOf({ a: all('b'), b: all('a'), c: any('d'), d: any('c') })
  expect(circles).toEqual({ a: ['a', 'b'], b: ['a', 'b'], c: ['c', 'd'], d: ['c', 'd'] })
})

test('who is let go of frees those who wait for it, and only who is stuck is', () => {
  const needs = new Map(Object.entries({ a: any('b', 'c'), b: any('a', 'c'), c: any('a', 'b') }))
  expect(releaseStuck(needs, ['c'])).toEqual(['c'])
  expect([...findCycles(needs)]).toEqual([])
  expect(releaseStuck(needs, ['a'])).toEqual([])
})
