import { stayWords } from '../../base/amounts.ts'
import { holderOf } from '../../journal/run-lock.ts'
import type { Started } from '../../queue/store.ts'
import type { TaskBrief } from '../../queue/task.ts'
import { queuedIn } from '../../run/left-in-queue.ts'
import { leftWords } from '../../views/task-words.ts'
import type { Input } from '../command.ts'
import { CannotPrint, print } from '../tasks/print.ts'
import type { Opened } from './caller.ts'
import { isLeft } from './left.ts'
import { tellOtherQueues } from './others.ts'

export function tellUnfinished(names: readonly string[]): void {
  if (names.length > 0) print(`Going on with: ${names.join(', ')}`)
}

/** What `run-queue` has started, before it is worked at: where that cannot be said, it will not be. */
export async function tellStarted(
  input: Input,
  started: Started,
  unfinished: readonly string[],
  opened: Opened,
): Promise<void> {
  try {
    await tell(input, started, unfinished, opened)
  } catch (error) {
    const names = [...unfinished, ...started.started]
    if (!(error instanceof CannotPrint) || names.length === 0 || !isLeft(opened)) throw error
    const goOn = `nobody is at work; to go on: forkhestra run-queue${opened.options}`
    throw new CannotPrint(error.message, `Started: ${names.join(', ')}; ${goOn}`)
  }
}

async function tell(
  input: Input,
  { started, held }: Started,
  unfinished: readonly string[],
  { store, run, agent }: Opened,
): Promise<void> {
  if (input.flag('json')) {
    print(JSON.stringify({ ok: true, run, agent, started, held, unfinished }))
    return
  }
  tellUnfinished(unfinished)
  if (started.length > 0) print(`Started: ${started.join(', ')}`)
  else if (unfinished.length === 0) {
    print(`Nothing was started.${atWorkWords(await store.list(run, { states: STARTED }))}`)
    tellOtherQueues(input, run)
  }
  if (held > 0) print(`${stayWords(held)}: no more may run at once.`)
}

/** What was queued meanwhile, or had no room, and waits for the next one. */
export async function tellQueued({
  store,
  run,
  options,
}: Pick<Opened, 'store' | 'run' | 'options'>): Promise<void> {
  const { queued, names } = await queuedIn(store, run)
  const left = { queued, names, unread: 0, senders: [] }
  for (const line of leftWords(left, (words) => `forkhestra ${words}${options}`)) {
    print(`[forkhestra] ${line}`)
  }
}

const STARTED = ['ready', 'running'] as const
/** More are not named. */
const NAMED = 10

/** What was started before. */
function atWorkWords(tasks: readonly TaskBrief[]): string {
  if (tasks.length === 0) return ''
  const names = tasks.slice(0, NAMED).map(({ name }) => name)
  const more = tasks.length > NAMED ? `, and ${tasks.length - NAMED} more` : ''
  return ` At work already: ${names.join(', ')}${more}.`
}

/** Where another process works, this one only waits. */
export function tellWhoWorks({ record }: Opened): void {
  const holder = holderOf(record)
  if (holder === undefined || holder.life === 'dead') return
  const words = `The process ${holder.pid} works off the queue of this run`
  console.error(`[forkhestra] ${words}; Ctrl-C ends only the waiting.`)
}
