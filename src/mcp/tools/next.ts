import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { nextTask } from '../../tasks/claims/claims.ts'
import { renderBrief, renderWaiting } from '../../tasks/render.ts'
import { makeBrief } from '../../tasks/view.ts'
import { inToolWords } from '../../verbs/tool-words.ts'
import { atMost, makeTool, withBroken } from '../tool.ts'
import { flag, lease } from '../../verbs/fields.ts'

const MOST_WAITING = 20

export const next = makeTool({
  name: 'next',
  description: 'The first ready task with all it needs, or why none is; claim takes it.',
  input: z.strictObject({ claim: flag, lease }),
  run({ claim = false, lease: time }, desk) {
    const leaseMs = time === undefined ? undefined : parseDuration(time, 'lease')
    const { task, advice, ...rest } = nextTask(desk.places, { ...desk, leaseMs }, claim)
    if (task !== undefined) {
      return withBroken(renderBrief(makeBrief(desk.places, task.id)), rest.broken, desk)
    }
    const lines = atMost(
      MOST_WAITING + 1,
      renderWaiting(rest),
      `see ${desk.prefix}list with explain`,
    )
    const all = advice === undefined ? lines : [...lines, advice]
    return withBroken(inToolWords(all.join('\n'), desk.prefix), rest.broken, desk)
  },
})
