import { basename } from 'node:path'
import { durationWords } from '../base/durations.ts'
import { printable, printableLines } from '../base/printable.ts'
import type { EventOf } from '../events/event.ts'
import type { LeftInQueue } from '../events/schema.ts'
import type { StepState } from '../events/step-state.ts'
import type { Screen } from './screen.ts'

/** `Task tests: started (builder, for main)`. */
export function taskStartedWords({
  task,
  agent,
  parent,
  attempt,
}: EventOf<'task_started'>): string {
  const again = attempt === 1 ? '' : `, attempt ${attempt}`
  return `Task ${task}: started (${printable(agent)}, for ${parent}${again})`
}

/** `Task tests: done (3 s)`, `Task tests: failed (timeout: timed out after 5 s)`. */
export function taskEndedWords(event: EventOf<'task_ended'>): string {
  const { task, success, ms, again = false, worktree } = event
  const kept = worktree?.isKept === true ? `, its work is in ${worktree.path}` : ''
  if (success) return `Task ${task}: done (${durationWords(ms)})${kept}`
  // What is behind its first line is for who reads the result.
  const error = printable((event.error ?? '').split('\n', 1)[0]!).slice(0, 200)
  const then = again ? ', it is tried again' : ''
  return `Task ${task}: failed (${event.class}: ${error})${then}${kept}`
}

/** What is told of a sub-agent has its name in front: several are at work. */
export function ofTask(task: string | undefined, text: string): string {
  return task === undefined ? text : `Task ${task}: ${text[0]!.toLowerCase()}${text.slice(1)}`
}

/** What a person may still want to do with the queue of a run that is over. */
export function leftWords(
  left: LeftInQueue | undefined,
  command: (words: string) => string,
): string[] {
  if (left === undefined) return []
  const { queued, names, unread, senders } = left
  return [
    ...(queued === 0
      ? []
      : [`Left in the queue: ${listed(names, queued)}; to start: ${command('run-queue')}`]),
    ...(unread === 0
      ? []
      : [`Unread in the inbox: ${unread} from ${listed(senders)}; to read: ${command('check')}`]),
  ]
}

/** What was to follow steps and was refused; it is tried again by who goes on. */
export function notQueuedLines(
  steps: readonly StepState[],
  record: string | undefined,
  command: (words: string) => string,
): string[] {
  const resume = record === undefined ? 'push' : `resume ${basename(record)}`
  return steps.flatMap(({ number, notQueued = [] }) => {
    if (notQueued.length === 0) return []
    const names = notQueued.slice(0, NAMED).map(({ name }) => name)
    const what = `Not queued after step ${number}: ${listed(names, notQueued.length)}`
    return [`${what}; to queue it: ${command(resume)}, once what is in its way is mended`]
  })
}

/** So many names fit into a summary. */
const NAMED = 20

function listed(names: readonly string[], count = names.length): string {
  const more = count - names.length
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** What sub-agents say, line by line and with their names: several speak at once. */
export class TaskLines {
  readonly #screen: Screen
  readonly #rests = new Map<string, { readonly decoder: TextDecoder; text: string }>()

  constructor(screen: Screen) {
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
