/** What is going on in a chat, as far as the person has to know it. */
export interface Moment {
  readonly state: 'listening' | 'turn' | 'leaving'
  /** Sub-agents. */
  readonly atWork: number
  /** What was typed for after this turn. */
  readonly ahead: number
  /** Whether a command of the person's own is being done. */
  readonly isDoing: boolean
  readonly isStopping: boolean
  readonly isAskedToLeave: boolean
  /** Whether the chat ends after this turn. */
  readonly isLastTurn: boolean
}

/** The line above the prompt; empty where there is nothing to say. */
export function describeStatus(moment: Moment): string {
  const { state, atWork, ahead } = moment
  const tasks = atWork === 0 ? [] : [`${atWork} running in the queue`]
  if (state === 'leaving') return [...tasks, ...tasks.map(() => 'Ctrl-C ends them')].join('; ')
  if (moment.isDoing) return 'waiting; Ctrl-C ends it'
  if (moment.isStopping) return 'stopping'
  const next = ahead === 0 ? [] : [`then: ${ahead} more`]
  const last = moment.isLastTurn ? ['then the chat ends'] : []
  if (state === 'turn') return [...tasks, 'Ctrl-C stops the turn', ...next, ...last].join('; ')
  return moment.isAskedToLeave ? 'Ctrl-C again, or Ctrl-D, leaves' : tasks.join()
}
