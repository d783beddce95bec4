import { basename } from 'node:path'
import { listed } from '../base/shorten.ts'
import { formatDuration } from '../base/durations.ts'
import { printable, printableLines } from '../base/terminal/printable.ts'
import type { EventOf } from '../records/events/event.ts'
import type { LeftInQueue } from '../records/events/schema.ts'
import type { StepState } from '../records/events/step-state.ts'
import type { Output } from './view.ts'

/** `Task tests: started (builder, for main)`. */
export function describeTaskStart({
  task,
  agent,
  parent,
  attempt,
}: EventOf<'task_started'>): string {
  const again = attempt === 1 ? '' : `, attempt ${attempt}`
  return `Task ${task}: started (${printable(agent)}, for ${parent}${again})`
}

/** `Task tests: done (3 s)`, `Task tests: failed (timeout: timed out after 5 s)`. */
export function describeTaskEnd(event: EventOf<'task_ended'>): string {
  const { task, success, ms, again = false, worktree } = event
  const kept = worktree?.isKept === true ? `, its work is in ${worktree.path}` : ''
  if (success) return `Task ${task}: done (${formatDuration(ms)})${kept}`
  // The result contains the rest.
  const error = printable((event.error ?? '').split('\n', 1)[0]!).slice(0, 200)
  const then = again ? ', will retry' : ''
  return `Task ${task}: failed (${event.class}: ${error})${then}${kept}`
}

/** Prefixes a text about a sub-agent with its name, because several may run at once. */
export function prefixTask(task: string | undefined, text: string): string {
  return task === undefined ? text : `Task ${task}: ${text[0]!.toLowerCase()}${text.slice(1)}`
}

/** What is left in the queue and inbox of a finished run, with the next commands. */
export function describeLeftInQueue(
  left: LeftInQueue | undefined,
  command: (words: string) => string,
): string[] {
  if (left === undefined) return []
  const { queued, names, unread, senders } = left
  return [
    ...(queued === 0
      ? []
      : [
          `Left in the queue: ${listed(names, names.length, queued)}; to start: ${command('run-queue')}`,
        ]),
    ...(unread === 0
      ? []
      : [`Unread in the inbox: ${unread} from ${listed(senders)}; to read: ${command('check')}`]),
  ]
}

/** Refused follow-up tasks of steps; a resume tries them again. */
export function notQueuedLines(
  steps: readonly StepState[],
  record: string | undefined,
  command: (words: string) => string,
): string[] {
  const resume = record === undefined ? 'push' : `resume ${basename(record)}`
  return steps.flatMap(({ number, notQueued = [] }) => {
    if (notQueued.length === 0) return []
    const names = notQueued.map(({ name }) => name)
    const what = `Not queued after step ${number}: ${listed(names, NAMED)}`
    return [`${what}; fix the problem, then run: ${command(resume)}`]
  })
}

const NAMED = 20

/** Output of sub-agents, with the task's name before each line. */
export class TaskLines {
  readonly #screen: Output
  readonly #rests = new Map<string, { readonly decoder: TextDecoder; text: string }>()

  constructor(screen: Output) {
    this.#screen = screen
  }

  say(task: string, text: string): void {
    for (const line of printableLines(text).split('\n')) this.#screen.line(`${task} | ${line}`)
  }

  print(task: string, bytes: Uint8Array): void {
    const rest = this.#rests.get(task) ?? { decoder: new TextDecoder(), text: '' }
    this.#rests.set(task, rest)
    const lines = (rest.text + rest.decoder.decode(bytes, { stream: true })).split('\n')
    rest.text = lines.pop()!
    for (const line of lines) this.say(task, Bun.stripANSI(line))
  }

  end(task: string): void {
    const rest = this.#rests.get(task)
    this.#rests.delete(task)
    if (rest !== undefined && rest.text !== '') this.say(task, Bun.stripANSI(rest.text))
  }
}
