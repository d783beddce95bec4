import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { claimTask, releaseTask } from '../../tasks/claims/claims.ts'
import { renderBrief } from '../../tasks/render.ts'
import { makeBrief } from '../../tasks/view.ts'
import { makeTool } from '../tool.ts'
import { flag, lease } from '../../verbs/fields.ts'

export const claim = makeTool({
  name: 'claim',
  description: 'Take one task, or give it back with release.',
  input: z.strictObject({ id: z.string(), release: flag, lease }),
  run({ id, release = false, lease: time }, desk) {
    if (release) return releaseTask(desk.places, id, desk).words
    const leaseMs = time === undefined ? undefined : parseDuration(time, 'lease')
    const task = claimTask(desk.places, id, { ...desk, leaseMs })
    return renderBrief(makeBrief(desk.places, task.id))
  },
})
