import { expect, test } from 'bun:test'
import { readdirSync, readlinkSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { until } from '../../../tests/support/until.ts'
import type { EventBody } from '../../records/events/event.ts'
import { NO_EVENTS } from '../../records/events/state.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { openSqliteStore } from '../../queue/sqlite-store.ts'
import type { QueueStore } from '../../queue/store.ts'
import { RunProcesses } from '../process/run-processes.ts'
import type { Ports } from '../ports.ts'
import { RunQueues } from './run-queues.ts'
import { Spending } from '../policy/spending.ts'

const RUN = 'r'

interface Setting {
  readonly queues: RunQueues
  readonly store: QueueStore
  readonly path: string
  readonly events: EventBody[]
}

/** The queues of a run with one ready task whose start throws because of a bug. */
async function makeSetting(subAgent: () => never): Promise<Setting> {
  const cwd = makeProject()
  const path = join(cwd, 'queue.sqlite')
  const events: EventBody[] = []
  const plan = {
    run: RUN,
    cwd,
    root: { kind: 'sequence', id: 'root', of: [] },
    recoveries: [],
    budget: {},
    hooks: {},
  }
  const never = new AbortController().signal
  const state = { ...NO_EVENTS, record: cwd }
  const ports = {
    emit: (event: EventBody) => void events.push(event),
    state: () => state,
    env: {},
    stop: never,
    force: never,
    control: { isStopRequested: false },
    ownsDescendants: false,
    version: '',
    queue: {
      hasStore: () => true,
      open: () => openSqliteStore(path),
      verify: async () => undefined,
      reportedEnds: () => new Set<string>(),
      worktrees: () => [],
      subAgent,
    },
  } as unknown as Ports
  const store = await openSqliteStore(path)
  await store.openRun(RUN)
  await store.push([{ id: 't', run: RUN, parent: 'main', name: 'a', prompt: 'x' }])
  await store.start(RUN, 'main')
  const processes = new RunProcesses(RUN, false)
  const whole = plan as unknown as Plan
  const spending = new Spending(whole, () => state)
  const queues = new RunQueues({ plan: whole, ports, processes, spending })
  return { queues, store, path, events }
}

const MISTAKE = new TypeError('a mistake of our own')

const fail = () => {
  throw MISTAKE
}

test('a bug in one attempt rejects the wait for the queues', async () => {
  const { queues, store } = await makeSetting(fail)
  await queues.begin()
  const caught = (error: unknown) => error
  expect(await queues.waitForTasks().catch(caught)).toEqual(MISTAKE)
  expect(await queues.endWork().catch(caught)).toEqual(MISTAKE)
  await store.close()
  await queues.close()
})

function holdersOf(path: string): number {
  const links = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  return links.filter((link) => link.startsWith(path)).length
}

test.if(process.platform === 'linux')('a store that was deleted is closed at the end', async () => {
  const { queues, store, path, events } = await makeSetting(fail)
  await store.cancel(RUN, 'a')
  await queues.begin()
  await store.close()
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  await until(() => events.some(({ type }) => type === 'warning'))
  await queues.endWork()
  await queues.close()
  expect(holdersOf(path)).toBe(0)
})
