import { describe } from 'bun:test'
import { testRetries } from './retries.ts'
import { testAttempts } from './attempts.ts'
import { testClocks } from './clocks.ts'
import { testFamilies } from './families.ts'
import { testFences } from './fences.ts'
import { testFollowUps } from './follow-ups.ts'
import type { Home } from './home.ts'
import { testLists } from './lists.ts'
import { testMessages } from './messages.ts'
import { testOutlook } from './outlook.ts'
import { testProcesses } from './processes.ts'
import { testStorm } from './storm.ts'
import { testTasks } from './tasks.ts'
import { testTogether } from './together.ts'
import { testDeadlocks, testStatus } from './waiting.ts'
import { testWake } from './wake.ts'

/** Registers the tests that every store must pass. */
export function testStore(name: string, home: Home): void {
  describe(`${name}: tasks`, () => testTasks(home))
  describe(`${name}: attempts`, () => testAttempts(home))
  describe(`${name}: retries`, () => testRetries(home))
  describe(`${name}: follow-up tasks`, () => testFollowUps(home))
  describe(`${name}: outlook`, () => testOutlook(home))
  describe(`${name}: concurrency`, () => testTogether(home))
  describe(`${name}: fencing`, () => testFences(home))
  describe(`${name}: clocks`, () => testClocks(home))
  describe(`${name}: lists`, () => testLists(home))
  describe(`${name}: families`, () => testFamilies(home))
  describe(`${name}: messages`, () => testMessages(home))
  describe(`${name}: receive status`, () => testStatus(home))
  describe(`${name}: deadlocks`, () => testDeadlocks(home))
  describe(`${name}: waking`, () => testWake(home))
  describe(`${name}: many processes`, () => testProcesses(home))
  describe(`${name}: killed`, () => testStorm(home))
}
