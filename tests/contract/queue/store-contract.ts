import { describe } from 'bun:test'
import { testRetries } from './retries.ts'
import { testAttempts } from './attempts.ts'
import { testClocks } from './clocks.ts'
import { testAncestors } from './ancestors.ts'
import { testFences } from './fences.ts'
import { testFollowUps } from './follow-ups.ts'
import type { StoreKind } from './store-kind.ts'
import { testLists } from './lists.ts'
import { testMessages } from './messages.ts'
import { testOutlook } from './outlook.ts'
import { testProcesses } from './processes.ts'
import { testStepAgents } from './step-agents.ts'
import { testStorm } from './storm.ts'
import { testTasks } from './tasks.ts'
import { testConcurrency } from './concurrency.ts'
import { testDeadlocks, testStatus } from './waiting.ts'
import { testWake } from './wake.ts'

/** Registers the tests that every store must pass. */
export function testStore(name: string, kind: StoreKind): void {
  describe(`${name}: tasks`, () => testTasks(kind))
  describe(`${name}: attempts`, () => testAttempts(kind))
  describe(`${name}: retries`, () => testRetries(kind))
  describe(`${name}: follow-up tasks`, () => testFollowUps(kind))
  describe(`${name}: outlook`, () => testOutlook(kind))
  describe(`${name}: concurrency`, () => testConcurrency(kind))
  describe(`${name}: fencing`, () => testFences(kind))
  describe(`${name}: clocks`, () => testClocks(kind))
  describe(`${name}: lists`, () => testLists(kind))
  describe(`${name}: families`, () => testAncestors(kind))
  describe(`${name}: messages`, () => testMessages(kind))
  describe(`${name}: receive status`, () => testStatus(kind))
  describe(`${name}: deadlocks`, () => testDeadlocks(kind))
  describe(`${name}: agents of steps`, () => testStepAgents(kind))
  describe(`${name}: waking`, () => testWake(kind))
  describe(`${name}: many processes`, () => testProcesses(kind))
  describe(`${name}: killed`, () => testStorm(kind))
}
