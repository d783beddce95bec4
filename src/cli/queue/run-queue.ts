import { listed } from '../../base/shorten.ts'
import { identityOf, withQueueClient, type OpenQueue } from '../../host/queue/caller.ts'
import {
  driveQueue,
  driveUnfinished,
  driveUntilDone,
  haveSucceeded,
  newestOf,
  startTasks,
  type Driven,
} from '../../host/queue/drive.ts'
import { StopSwitch } from '../../host/stop-switch.ts'
import { type RunLock, holderOf } from '../../records/journal/run-lock.ts'
import { mayRetry } from '../../queue/limits.ts'
import { pushCommand } from '../../queue/push-options.ts'
import { STARTED_STATES, type TaskBrief } from '../../queue/task.ts'
import { UsageError, type Input } from '../command.ts'
import { print, printResult, CannotPrint } from '../print.ts'
import { printOtherQueues } from './show.ts'
import { frontEndOf } from '../front-end.ts'
import { queueRequest, readCount, QueueArguments } from './arguments.ts'
import { describeQueued } from '../../base/amounts.ts'
import { MOST_PUSHED } from '../../host/queue/failed-tasks.ts'
import { queuedIn } from '../../run/subagents/left-in-queue.ts'
import { describeLeftInQueue } from '../../views/describe-task.ts'
import { isAbandoned } from './explain.ts'

/** A queue that this process drives in the foreground. */
type TerminalQueue = Driven & Pick<OpenQueue, 'options'>

type Started = Awaited<ReturnType<typeof startTasks>>

/** Starts queued tasks. Outside a run, stays in the foreground until they have ended. */
export async function startQueue(input: Input): Promise<number> {
  const args = new QueueArguments(input, ['parallel'])
  const [parallel, word] = [args.count('parallel'), args.optional()]
  const count = word === undefined ? undefined : readCount('The number of tasks', word)
  if (parallel !== undefined && count !== undefined) {
    throw new UsageError(
      'run-queue takes one number.',
      'Use run-queue 3 or run-queue --parallel 3.',
    )
  }
  return withQueueClient(
    queueRequest(input),
    'existing',
    async (opened) => {
      const killOrphans = input.flag('kill-orphans')
      const frontEnd = frontEndOf(input)
      const started = await startTasks(opened, { count, parallel }, killOrphans, frontEnd)
      await printStarted(input, started, opened)
      if (opened.isInside || started.names.length === 0) return 0
      if (!input.flag('json')) noteOtherProcess(opened)
      return driveInTerminal(input, opened, started.names, started.mayKill)
    },
    async (caller) => {
      const none = { ok: true, ...identityOf(caller), started: [], held: 0, unfinished: [] }
      printResult(input, none, 'The queue is empty.')
      return printOtherQueues(input, '', 'run-queue')
    },
  )
}

/** For `resume`: drives tasks that an earlier process has started; undefined if there are none. */
export async function resumeQueue(
  input: Input,
  run: string,
  record: string,
): Promise<number | undefined> {
  const killOrphans = input.flag('kill-orphans')
  const frontEnd = frontEndOf(input)
  return driveUnfinished({ run, record }, killOrphans, frontEnd, async (driven, names, mayKill) => {
    if (!input.flag('json')) await printContinued(driven, names)
    return driveInTerminal(input, { ...driven, options: ` --run ${run}` }, names, mayKill)
  })
}

/** Waits until the started tasks have ended, and drives them if no other process does. */
async function driveInTerminal(
  input: Input,
  driven: TerminalQueue,
  names: readonly string[],
  mayKill: boolean,
): Promise<number> {
  let waiting: StopSwitch | undefined
  const listen = () => {
    if (waiting === undefined) (waiting = new StopSwitch()).listen(() => undefined)
    return waiting.stop
  }
  const end = await driveUntilDone(
    driven,
    names,
    (lock) => drive(input, driven, lock, mayKill),
    listen,
  )
  if (end === 'left') return 130
  if (end === 'asked') return afterStop(driven, names)
  if (end === 'over') {
    await reportLost(driven, names)
    if (!input.flag('json')) await printQueued(driven)
    return codeOf(driven, names)
  }
  await reportInterrupted(driven, names)
  return end
}

/** Prints which tasks Ctrl-C ended for good, and which are left. */
async function reportInterrupted(driven: TerminalQueue, names: readonly string[]): Promise<void> {
  await reportLost(driven, names)
  const { store, run, options } = driven
  const tasks = newestOf(await store.list(run, { states: STARTED_STATES }), names)
  const left = tasks.map(({ name }) => name)
  if (left.length > 0) {
    console.error(
      `[forkhestra] Not finished: ${left.join(', ')}; resume with: forkhestra run-queue${options}`,
    )
  }
}

/** Reports tasks whose agents were killed and that are not retried. */
async function reportLost(
  { store, run, options }: TerminalQueue,
  names: readonly string[],
): Promise<void> {
  const tasks = newestOf(await store.list(run), names)
  const lost = tasks.filter(({ end }) => end?.success === false && end.class === 'lost')
  for (const task of lost.slice(0, MOST_PUSHED)) {
    const push = pushCommand({ ...task, retry: Math.max(1, task.retry) }, options)
    console.error(`[forkhestra] Lost and not retried: ${task.name}; to push again: ${push}`)
  }
  const more = lost.length - MOST_PUSHED
  if (more > 0)
    console.error(`[forkhestra] Lost and not retried: ${more} more; see: forkhestra show ${run}`)
}

/** A `forkhestra stop` with nothing left to do is not a failure. */
async function afterStop(driven: TerminalQueue, names: readonly string[]): Promise<number> {
  const { store, run, options } = driven
  const left = (await store.list(run, { states: STARTED_STATES })).map(({ name }) => name)
  if (left.length === 0) return codeOf(driven, names)
  console.error(
    `[forkhestra] Stopped; not finished: ${left.join(', ')}; resume with: forkhestra run-queue${options}`,
  )
  return 1
}

async function codeOf(driven: TerminalQueue, names: readonly string[]): Promise<number> {
  return (await haveSucceeded(driven, names)) ? 0 : 1
}

async function drive(input: Input, driven: TerminalQueue, lock: RunLock, mayKill: boolean) {
  const { runInTerminal } = await import('../run-in-terminal.ts')
  const [verbose, json] = [input.flag('verbose'), input.flag('json')]
  return driveQueue(frontEndOf(input), driven, lock, mayKill, (ready, work) =>
    runInTerminal(ready, { verbose, json, work }),
  )
}

/** Among tasks that an earlier process did not finish, a running one without retries left is lost. */
async function printContinued(
  { store, run }: Pick<TerminalQueue, 'store' | 'run'>,
  unfinished: readonly string[],
): Promise<void> {
  const tasks = newestOf(await store.list(run, { states: STARTED_STATES }), unfinished)
  const names = tasks
    .filter(({ state, attempt, retry }) => state === 'ready' || mayRetry('lost', attempt, retry))
    .map(({ name }) => name)
  if (names.length > 0) print(`Continuing: ${names.join(', ')}`)
}

/** Prints what was started before it runs; if stdout fails, nothing is run. */
async function printStarted(input: Input, started: Started, opened: OpenQueue): Promise<void> {
  const { names } = started
  try {
    await printStartedTasks(input, started, opened)
  } catch (error) {
    if (!(error instanceof CannotPrint) || names.length === 0 || !isAbandoned(opened)) throw error
    const resume = `resume with: forkhestra run-queue${opened.options}`
    throw new CannotPrint(error.message, `Started, but not running: ${names.join(', ')}; ${resume}`)
  }
}

async function printStartedTasks(
  input: Input,
  { started, held, unfinished }: Started,
  { store, run, agent }: OpenQueue,
): Promise<void> {
  if (input.flag('json')) {
    print(JSON.stringify({ ok: true, run, agent, started, held, unfinished }))
    return
  }
  await printContinued({ store, run }, unfinished)
  if (started.length > 0) print(`Started: ${started.join(', ')}`)
  else if (unfinished.length === 0) {
    print(
      `Nothing was started.${describeStarted(await store.list(run, { states: STARTED_STATES }))}`,
    )
    await printOtherQueues(input, run, 'run-queue')
  }
  if (held > 0) print(`${describeQueued(held)}: the limit of running tasks is reached.`)
}

async function printQueued({
  store,
  run,
  options,
}: Pick<OpenQueue, 'store' | 'run' | 'options'>): Promise<void> {
  const { queued, names } = await queuedIn(store, run)
  const left = { queued, names, unread: 0, senders: [] }
  for (const line of describeLeftInQueue(left, (words) => `forkhestra ${words}${options}`)) {
    print(`[forkhestra] ${line}`)
  }
}

/** Maximum number of tasks to name. */
const NAMED = 10

function describeStarted(tasks: readonly TaskBrief[]): string {
  if (tasks.length === 0) return ''
  const names = tasks.map(({ name }) => name)
  return ` Already started: ${listed(names, NAMED)}.`
}

function noteOtherProcess({ record }: OpenQueue): void {
  const holder = holderOf(record)
  if (holder === undefined || holder.life === 'dead') return
  const who = holder.pid === 0 ? 'Another process' : `Process ${holder.pid}`
  console.error(
    `[forkhestra] ${who} is already running this queue; Ctrl-C only stops waiting for it.`,
  )
}
