import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { describeEndedClaim, renderBrief } from '../../tasks/render.ts'
import { makeTool, withWarnings, type TaskContext } from '../tool.ts'
import { flag, lease } from './fields.ts'

export const claim = makeTool({
  name: 'claim',
  description: 'Claim one task, or release it.',
  input: z.strictObject({ id: z.string(), release: flag, lease }),
  run({ id, release = false, lease: time }, context) {
    if (release) return giveBack(id, context)
    const leaseMs = time === undefined ? undefined : parseDuration(time, 'lease')
    const task = context.database.claim(id, { leaseMs })
    return renderBrief(context.database.view(task.id))
  },
})

function giveBack(word: string, { database }: TaskContext): string {
  const warnings: string[] = []
  const { message } = database.endClaim(word, {
    onClaimEnded: (id, held) => warnings.push(describeEndedClaim(id, held)),
  })
  return withWarnings(message, warnings)
}
