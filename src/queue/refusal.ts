import { basename, dirname } from 'node:path'
import { counted } from '../base/amounts.ts'
import { unreachable, UserError } from '../base/errors.ts'
import { printable } from '../base/terminal/printable.ts'

/** All refusals and failures of a store. */
export type QueueRefusal =
  | { readonly kind: 'unknown_run'; readonly run: string }
  | { readonly kind: 'unknown_agent'; readonly name: string }
  | { readonly kind: 'agent_ended'; readonly name: string }
  | { readonly kind: 'name_taken'; readonly name: string }
  | { readonly kind: 'name_of_agent'; readonly name: string }
  | { readonly kind: 'not_a_task'; readonly name: string }
  | { readonly kind: 'secret_name' }
  | { readonly kind: 'too_deep'; readonly depth: number; readonly limit: number }
  | { readonly kind: 'queue_full'; readonly waiting: number; readonly limit: number }
  | {
      readonly kind: 'too_big'
      readonly what: 'prompt' | 'message' | 'result'
      readonly bytes: number
      readonly limit: number
    }
  | { readonly kind: 'newer_version'; readonly place: string; readonly version: number }
  | { readonly kind: 'not_a_store'; readonly place: string }
  | { readonly kind: 'other_run'; readonly place: string; readonly run: string }
  | { readonly kind: 'missing'; readonly place: string }
  | { readonly kind: 'incomplete'; readonly place: string; readonly missing: number }
  | { readonly kind: 'gone'; readonly place: string }
  | { readonly kind: 'read_only'; readonly place: string }
  | { readonly kind: 'disk_full'; readonly place: string }
  | { readonly kind: 'altered'; readonly place: string; readonly detail: string }
  | { readonly kind: 'broken'; readonly place: string; readonly detail: string }
  | { readonly kind: 'failing'; readonly place: string; readonly detail: string }
  | { readonly kind: 'busy'; readonly place: string; readonly seconds: number }

export class QueueError extends UserError {
  /** 2 for a mistake of the caller, 1 if the store failed. */
  override readonly exitCode: number
  readonly refusal: QueueRefusal

  constructor(refusal: QueueRefusal) {
    const [message, hint] = describeRefusal(refusal)
    super(message, hint)
    this.refusal = refusal
    this.exitCode = 'place' in refusal ? 1 : 2
  }
}

function describeRefusal(refusal: QueueRefusal): readonly [message: string, hint?: string] {
  switch (refusal.kind) {
    case 'unknown_run':
      return [`There is no run ${refusal.run} with queues.`, 'See: forkhestra runs']
    case 'unknown_agent':
      return [
        `This run has no agent or task named '${shown(refusal.name)}'.`,
        'See: forkhestra queue',
      ]
    case 'agent_ended':
      return [`The agent '${refusal.name}' has ended.`, 'See: forkhestra queue']
    case 'name_taken':
      return [
        `A task named '${refusal.name}' has not ended yet.`,
        `Use another name, or end that task first: forkhestra run-queue, or forkhestra cancel ${refusal.name}`,
      ]
    case 'name_of_agent':
      return [`'${refusal.name}' is the name of an agent of this run.`, 'Use another name.']
    case 'not_a_task':
      return [
        `'${refusal.name}' is not a task and cannot be cancelled.`,
        'To stop the run itself: forkhestra stop',
      ]
    case 'secret_name':
      return [
        'The name of the task contains a secret.',
        'Use another name: names are shown and recorded as they are.',
      ]
    case 'too_deep':
      return [
        `A task at depth ${refusal.depth} is refused: the limit is ${refusal.limit}.`,
        'Do it yourself, or let your parent queue it. For later runs the limit is queueLimits.depth in the configuration.',
      ]
    case 'queue_full':
      return [
        `The run's queue is full: ${refusal.waiting} tasks would wait, the limit is ${refusal.limit}.`,
        'Start some of them first: forkhestra run-queue, or /run in a prompt.',
      ]
    case 'too_big':
      return [
        `A ${refusal.what} of ${refusal.bytes} bytes is refused: the limit is ${refusal.limit}.`,
        'Write it to a file and send its path.',
      ]
    default:
      return describeStoreRefusal(refusal)
  }
}

/** For text that was typed or read from a file. */
function shown(name: string): string {
  const text = printable(name)
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text
}

const LONGEST_NAME = 100

type PlaceRefusal = Extract<QueueRefusal, { readonly place: string }>

function describeStoreRefusal(refusal: PlaceRefusal): readonly [message: string, hint: string] {
  const { place } = refusal
  switch (refusal.kind) {
    case 'newer_version':
      return [
        `The queue store ${place} was created by a newer version of forkhestra (store version ${refusal.version}).`,
        'Update forkhestra. Nothing was changed.',
      ]
    case 'not_a_store':
      return [`${place} is not a forkhestra queue store.`, newQueueHint(place)]
    case 'other_run':
      return [`The queue store ${place} belongs to run ${shown(refusal.run)}.`, newQueueHint(place)]
    case 'missing':
      return [
        `The queue store ${place} is missing, with everything that was queued or unread in it.`,
        newQueueHint(place),
      ]
    case 'incomplete':
      return [
        `The queue store ${place} is missing its last ${counted(refusal.missing, 'change')}: its -wal file was deleted or damaged, or an older copy replaced it.`,
        newQueueHint(place),
      ]
    case 'gone':
      return [
        `The queue store ${place} is gone: it was deleted or replaced while it was in use.`,
        'What was queued or unread in it is lost. What is queued from now on is in a new one.',
      ]
    case 'read_only':
      return [
        `The queue store ${place} cannot be written.`,
        'Reading needs write permission too. Fix the permissions of the file and its folder, or read a copy.',
      ]
    case 'disk_full':
      return [
        `The disk that holds the queue store ${place} is full.`,
        'Free disk space and retry. Nothing in the store is lost.',
      ]
    case 'altered':
      return [
        `The queue store ${place} was changed by another program: ${shown(refusal.detail)}.`,
        newQueueHint(place),
      ]
    case 'broken':
    case 'failing':
      return [`The queue store ${place} failed: ${shown(refusal.detail)}.`, newQueueHint(place)]
    case 'busy':
      return [
        `Other processes have kept the queue store ${place} busy for ${refusal.seconds} seconds.`,
        'Check whether one of them is hung, then retry.',
      ]
    default:
      return unreachable(refusal)
  }
}

function newQueueHint(place: string): string {
  const run = basename(dirname(place))
  return `Restore it from a backup, or continue with an empty queue (what is there is kept aside): forkhestra resume ${run} --new-queue`
}
