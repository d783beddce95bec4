import { randomLetters } from '../../base/ids.ts'
import { makeAgentEnvironment } from '../../engines/environment.ts'
import { makeStamp } from '../../events/event.ts'
import { readState } from '../../journal/read-run.ts'
import { RunLock } from '../../journal/run-lock.ts'
import { EXIT_CODES, stopReasonOf } from '../../run/ports.ts'
import { ownFolder } from '../../setup/own-folder.ts'
import type { EndBrief, TaskBrief, TaskHead } from '../../queue/task.ts'
import { UsageError, type Input } from '../command.ts'
import { endOrphansOf, mayEndOrphans } from '../orphans.ts'
import { readRecorded } from '../resume-run.ts'
import { StopSwitch } from '../signals.ts'
import { print } from '../tasks/print.ts'
import { isDriven, whose, withDesk, type Opened } from './caller.ts'
import { agentsOf } from './configuration.ts'
import { tellOtherQueues } from './others.ts'
import { hasStore, openStoreOf, refuseUnsound } from './store.ts'
import { tellQueued, tellStarted, tellUnfinished, tellWhoWorks } from './tell-started.ts'
import { readCount, Words } from './words.ts'

/** A run whose queue is worked off. */
type Driven = Pick<Opened, 'store' | 'run' | 'record' | 'options'>

/** Where nobody looks on: what ends it, and who is told that it has begun. */
interface Unseen {
  readonly stop: StopSwitch
  readonly begun: () => Promise<void>
}

/** How often a person who waits looks whether the run that works for him is still there. */
const LOOK_MS = 1000

/** The verb `run-queue`: starts what is queued; a person sees it through. */
export async function startQueue(input: Input): Promise<number> {
  const words = new Words(input, ['parallel'])
  const [parallel, word] = [words.whole('parallel'), words.one()]
  const count = word === undefined ? undefined : readCount('The number of tasks', word)
  if (parallel !== undefined && count !== undefined) {
    throw new UsageError(
      'run-queue takes one number.',
      'Write run-queue 3 or run-queue --parallel 3.',
    )
  }
  return withDesk(
    input,
    'looks',
    async (opened) => {
      const unfinished = opened.isInside ? [] : await unfinishedIn(opened)
      const mayKill = await mayGoOn(input, opened)
      const started = await opened.desk.run({ count, parallel })
      const names = [...unfinished, ...started.started]
      await tellStarted(input, started, unfinished, opened)
      if (opened.isInside) return 0
      if (names.length === 0) return 0
      if (!input.flag('json')) tellWhoWorks(opened)
      return seeThrough(input, opened, names, mayKill)
    },
    (caller) => {
      const none = { ok: true, ...whose(caller), started: [], held: 0, unfinished: [] }
      print(input.flag('json') ? JSON.stringify(none) : 'The queue is empty.')
      if (!input.flag('json')) tellOtherQueues(input)
      return 0
    },
  )
}

/** For `resume`: works off what an earlier process has started in a run; undefined where nothing is. */
export async function goOnWithQueue(
  input: Input,
  run: string,
  record: string,
): Promise<number | undefined> {
  if (!hasStore(record)) return undefined
  const store = await openStoreOf(record)
  try {
    const driven = { store, run, record, options: ` --run ${run}` }
    const unfinished = await unfinishedIn(driven)
    if (unfinished.length === 0) return undefined
    const mayKill = await mayEndOrphans(run, input.flag('kill-orphans'), () => isDriven({ record }))
    if (!input.flag('json')) tellUnfinished(unfinished)
    return await seeThrough(input, driven, unfinished, mayKill)
  } finally {
    await store.close()
  }
}

/** Refuses, before anything is started, what could not be worked at; whether orphans may be ended. */
async function mayGoOn(input: Input, { desk, store, run, record, isInside }: Opened) {
  const mayKill = input.flag('kill-orphans')
  if (isInside || isDriven({ record })) return mayKill
  await refuseUnsound(run, record)
  const { ready, running } = await store.counts(run)
  const isAny = ready + running > 0 || (await desk.hasQueued())
  return isAny ? mayEndOrphans(run, mayKill, () => isDriven({ record })) : mayKill
}

/** Names of tasks at which nobody works any more although they were started. */
async function unfinishedIn({ store, run, record }: Driven): Promise<string[]> {
  if (isDriven({ record })) return []
  return (await store.list(run, { states: STARTED })).map(({ name }) => name)
}

const STARTED = ['ready', 'running'] as const

function isStarted({ state }: TaskHead): boolean {
  return state === 'ready' || state === 'running'
}

/** Waits until what was started has ended, and works it off where no process does. */
async function seeThrough(
  input: Input,
  driven: Driven,
  names: readonly string[],
  mayKill: boolean,
): Promise<number> {
  const { store, run, record } = driven
  const stopSwitch = new StopSwitch()
  const isOver = watchOver(driven, names)
  let isListening = false
  for (;;) {
    const mark = await store.mark()
    if (await isOver()) {
      if (!input.flag('json')) await tellQueued(driven)
      return codeOf(newestOf(await store.list(run), names))
    }
    const lock = RunLock.take(record)
    if (lock instanceof RunLock) {
      const stopped = await drive(input, driven, lock, mayKill)
      if (typeof stopped === 'number') {
        await tellInterrupted(driven, names)
        return stopped
      }
      if (stopped === 'asked') return afterStop(driven, names)
      continue
    }
    if (!isListening) stopSwitch.listen(() => undefined)
    isListening = true
    const signal = AbortSignal.any([stopSwitch.stop, AbortSignal.timeout(LOOK_MS)])
    await store.wait(run, mark, signal)
    if (stopSwitch.stop.aborted) return 130
  }
}

/**
 * Tells whether none of these is open, and none of others for which nobody else works. They may be
 * thousands, so that one of them is asked about for as long as it is open.
 */
function watchOver(driven: Driven, names: readonly string[]): () => Promise<boolean> {
  const { store, run } = driven
  const wanted = new Set(names)
  let last: TaskHead | undefined
  return async () => {
    const { isReady, isRunning } = await store.outlook(run)
    if (!isReady && !isRunning) return true
    if (!isDriven(driven)) return false
    const known = last === undefined ? undefined : await store.task(run, last.id)
    if (known !== undefined && isStarted(known)) return false
    // The newest, which is most likely to be the last.
    last = (await store.list(run, { states: STARTED })).findLast(({ name }) => wanted.has(name))
    return last === undefined
  }
}

/** What Ctrl-C has ended and nobody will try again, and what is left. */
async function tellInterrupted(
  { store, run, options }: Driven,
  names: readonly string[],
): Promise<void> {
  const tasks = newestOf(await store.list(run), names)
  const namesOf = (isWanted: (task: TaskBrief) => boolean) =>
    tasks.filter(isWanted).map(({ name }) => name)
  const lost = namesOf(({ end }) => end?.success === false && end.class === 'lost')
  const left = namesOf(isStarted)
  if (lost.length > 0) {
    console.error(`[forkhestra] Not tried again, and to be pushed anew: ${lost.join(', ')}`)
  }
  if (left.length > 0) {
    const goOn = `to go on: forkhestra run-queue${options}`
    console.error(`[forkhestra] Left: ${left.join(', ')}; ${goOn}`)
  }
}

/** `forkhestra stop` is no failure where nothing was left to do. */
async function afterStop(
  { store, run, options }: Driven,
  names: readonly string[],
): Promise<number> {
  const tasks = await store.list(run)
  const left = tasks.filter(isStarted).map(({ name }) => name)
  if (left.length === 0) return codeOf(newestOf(tasks, names))
  const goOn = `to go on: forkhestra run-queue${options}`
  console.error(`[forkhestra] Stopped; left: ${left.join(', ')}; ${goOn}`)
  return 1
}

/** A task of which not all that was to follow is queued is no clean success. */
function codeOf(tasks: readonly { readonly end: EndBrief | null }[]): number {
  const isClean = (end: EndBrief | null) => end?.success === true && end.notQueued === undefined
  return tasks.every(({ end }) => isClean(end)) ? 0 : 1
}

/** Names are given again once a task is over. */
function newestOf<One extends TaskHead>(tasks: readonly One[], names: readonly string[]): One[] {
  const newest = new Map(tasks.map((task) => [task.name, task]))
  return names.flatMap((name) => newest.get(name) ?? [])
}

/** Works the queue off in this process; where it was stopped, the code of the signal, or `asked`. */
export async function drive(
  input: Input,
  { run, record: folder }: Pick<Driven, 'run' | 'record'>,
  lock: RunLock,
  mayKill: boolean,
  unseen?: Unseen,
): Promise<number | 'asked' | undefined> {
  const env = makeAgentEnvironment(process.env, ownFolder())
  const { state, seq } = readState(folder)
  const { plan } = await readRecorded(run, folder, env)
  const ended = await endOrphansOf(run, mayKill)
  const { carryOut } = await import('../carry-out.ts')
  const { runQueue } = await import('../../run/run-queue.ts')
  let stopped: number | 'asked' | undefined
  await carryOut(plan, ended, {
    env,
    stamp: makeStamp(run, `w-${randomLetters(6)}`, seq + 1),
    verbose: input.flag('verbose'),
    json: input.flag('json'),
    agents: await agentsOf(plan),
    resumed: { folder, lock, state },
    ...(unseen === undefined ? {} : { unseen: unseen.stop }),
    work: async (of, ports) => {
      await unseen?.begun()
      await runQueue(of, ports)
      if (ports.stop.aborted) stopped = EXIT_CODES[stopReasonOf(ports.stop).signal]
      else if (ports.control.isStopAsked) stopped = 'asked'
    },
  })
  return stopped
}
