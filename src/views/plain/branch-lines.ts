import type { RunEvent } from '../../records/events/schema.ts'
import type { RunState } from '../../records/events/state.ts'
import { isInside, keyOfScope } from '../../records/events/tree.ts'
import type { EventOf } from '../../records/events/event.ts'
import { asideBranch, describeMerged, describeRefusal, inOneLine, type Reader } from '../merges.ts'
import type { OwnLines } from './own-lines.ts'

type BranchEvent = Extract<
  RunEvent,
  { type: 'branch_started' | 'merge_started' | 'merge_ended' | 'branch_ended' }
>

const SHORT = 7

interface Shown {
  readonly state: RunState
  readonly reader: () => Reader
}

/** Shows where a branch works, and what happens to its work. */
export function showBranch(event: BranchEvent, { state, reader }: Shown, lines: OwnLines): void {
  switch (event.type) {
    case 'branch_started':
      lines.say(`Worktree: ${reader().path(event.path)}`)
      if (event.setup !== undefined) lines.say(`Setting up: ${event.setup}`)
      return lines.detail(
        `  branch ${event.branch}, from ${event.base.slice(0, SHORT)} of ${event.into}`,
      )
    case 'merge_started':
      if (event.checks !== undefined)
        lines.say(`Merging into ${targetOf(event, state)}, checked by ${event.checks.join(', ')}`)
      return lines.detail(
        `  merging ${event.tip.slice(0, SHORT)} onto ${event.onto.slice(0, SHORT)}`,
      )
    case 'merge_ended':
      return showMerge(event, state, lines)
    case 'branch_ended':
      if (event.kept !== undefined)
        return lines.warn(`Worktree kept: ${reader().path(event.path)} (${inOneLine(event.kept)})`)
      return lines.detail('  worktree removed')
  }
}

function showMerge(event: EventOf<'merge_ended'>, state: RunState, lines: OwnLines): void {
  const { result, commit, commits, aside } = event
  const into = targetOf(event, state)
  if (result !== 'merged' || commit === undefined) {
    const words = isSentBack(event, state) ? 'Sent back' : 'Not merged'
    return lines.warn(`${words}: ${describeRefusal(event, into)}`)
  }
  if (commits === 0) return lines.detail('  nothing new to merge')
  const what = `(${describeMerged(commits, commit)})`
  if (aside === undefined) return lines.say(`Merged into ${into} ${what}`)
  const why = aside === '' ? '' : `: ${into} cannot be moved: ${inOneLine(aside)}`
  lines.warn(`Merged into ${asideBranch(event)} ${what}${why}`)
}

function targetOf({ branch }: { readonly branch: string }, { branches = [] }: RunState): string {
  return branches.find((each) => each.branch === branch)?.into ?? 'its target'
}

/** Whether the step that handed it in has an iteration left for it. */
function isSentBack({ scope }: EventOf<'merge_ended'>, { steps }: RunState): boolean {
  const key = keyOfScope(scope)
  return steps.some(
    (step) => (step.key === key || isInside(step, key)) && step.isOpen && step.ends === undefined,
  )
}
