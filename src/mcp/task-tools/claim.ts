import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { flag, lease } from './fields.ts'
import { renderBrief, renderWaiting } from '../../tasks/render.ts'
import { atMost, makeTaskTool, translateHint, withBroken, withWarnings } from './task-tool.ts'

const MOST_WAITING = 20

export const next = makeTaskTool({
  name: 'next',
  description: 'Show the first ready task in full, or why there is none; with claim, claim it.',
  input: z.strictObject({ claim: flag, lease }),
  run({ claim: isClaiming = false, lease: time }, context) {
    const { database, prefix } = context
    const options = { claim: isClaiming, leaseMs: readLease(time) }
    const { brief, advice, ...rest } = database.findNext(options)
    if (brief !== undefined) return withBroken(renderBrief(brief), rest.broken, context)
    const explain = `see ${prefix}list with explain`
    const lines = atMost(MOST_WAITING + 1, renderWaiting(rest), explain)
    const all = advice === undefined ? lines : [...lines, advice]
    return withBroken(translateHint(all.join('\n'), prefix), rest.broken, context)
  },
})

export const claim = makeTaskTool({
  name: 'claim',
  description: 'Claim one task, or release it.',
  input: z.strictObject({ id: z.string(), release: flag, lease }),
  run({ id, release = false, lease: time }, { database }) {
    if (release) return withWarnings((options) => database.endClaim(id, options).message)
    const task = database.claim(id, { leaseMs: readLease(time) })
    return renderBrief(database.view(task.id))
  },
})

function readLease(time: string | undefined): number | undefined {
  return time === undefined ? undefined : parseDuration(time, 'lease')
}
