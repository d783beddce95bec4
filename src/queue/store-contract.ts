import { describe } from 'bun:test'
import { testAgain } from './contract/again.ts'
import { testAttempts } from './contract/attempts.ts'
import { testClocks } from './contract/clocks.ts'
import { testFamilies } from './contract/families.ts'
import { testFences } from './contract/fences.ts'
import { testFollowUps } from './contract/follow-ups.ts'
import type { Home } from './contract/home.ts'
import { testLists } from './contract/lists.ts'
import { testMessages } from './contract/messages.ts'
import { testOutlook } from './contract/outlook.ts'
import { testProcesses } from './contract/processes.ts'
import { testStorm } from './contract/storm.ts'
import { testTasks } from './contract/tasks.ts'
import { testTogether } from './contract/together.ts'
import { testDeadlocks, testStatus } from './contract/waiting.ts'
import { testWake } from './contract/wake.ts'

/** What every store must do; registers the same tests for any of them. */
export function testStore(name: string, home: Home): void {
  describe(`${name}: tasks`, () => testTasks(home))
  describe(`${name}: attempts`, () => testAttempts(home))
  describe(`${name}: tried again`, () => testAgain(home))
  describe(`${name}: what follows`, () => testFollowUps(home))
  describe(`${name}: what is left to do`, () => testOutlook(home))
  describe(`${name}: at the same time`, () => testTogether(home))
  describe(`${name}: who acts`, () => testFences(home))
  describe(`${name}: clocks`, () => testClocks(home))
  describe(`${name}: lists`, () => testLists(home))
  describe(`${name}: families`, () => testFamilies(home))
  describe(`${name}: messages`, () => testMessages(home))
  describe(`${name}: who could send`, () => testStatus(home))
  describe(`${name}: deadlocks`, () => testDeadlocks(home))
  describe(`${name}: waking`, () => testWake(home))
  describe(`${name}: many processes`, () => testProcesses(home))
  describe(`${name}: killed`, () => testStorm(home))
}
