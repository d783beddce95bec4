import { holderOf } from '../../journal/run-lock.ts'
import type { Started } from '../../queue/store.ts'
import type { Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import type { Opened } from './caller.ts'
import { tellOtherQueues } from './others.ts'

export function tellUnfinished(names: readonly string[]): void {
  if (names.length > 0) print(`Going on with: ${names.join(', ')}`)
}

/** What `run-queue` has started, before it is worked at. */
export function tellStarted(
  input: Input,
  { started, held }: Started,
  unfinished: readonly string[],
  { run, agent }: Opened,
): void {
  if (input.flag('json')) {
    print(JSON.stringify({ ok: true, run, agent, started, held, unfinished }))
    return
  }
  tellUnfinished(unfinished)
  if (started.length > 0) print(`Started: ${started.join(', ')}`)
  else if (unfinished.length === 0) {
    print('Nothing was started.')
    tellOtherQueues(input, run)
  }
  if (held > 0) print(`${held} stay queued: no more may run at once.`)
}

/** Where another process works, this one only waits. */
export function tellWhoWorks({ record }: Opened): void {
  const holder = holderOf(record)
  if (holder === undefined || holder.life === 'dead') return
  const words = `The process ${holder.pid} works off the queue of this run`
  console.error(`[forkhestra] ${words}; Ctrl-C ends only the waiting.`)
}
