import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { renderBrief, renderWaiting } from '../../tasks/render.ts'
import { translateHint } from '../task-hint.ts'
import { atMost, makeTool, withBroken } from '../tool.ts'
import { flag, lease } from './fields.ts'

const MOST_WAITING = 20

export const next = makeTool({
  name: 'next',
  description: 'The first ready task in full, or why there is none; claim takes it.',
  input: z.strictObject({ claim: flag, lease }),
  run({ claim = false, lease: time }, context) {
    const leaseMs = time === undefined ? undefined : parseDuration(time, 'lease')
    const { task, advice, ...rest } = context.database.findNext({ claim, leaseMs })
    if (task !== undefined) {
      return withBroken(renderBrief(context.database.view(task.id)), rest.broken, context)
    }
    const lines = atMost(
      MOST_WAITING + 1,
      renderWaiting(rest),
      `see ${context.prefix}list with explain`,
    )
    const all = advice === undefined ? lines : [...lines, advice]
    return withBroken(translateHint(all.join('\n'), context.prefix), rest.broken, context)
  },
})
