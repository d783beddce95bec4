import { z } from 'zod'
import { parseDuration } from '../../base/durations.ts'
import { claimTask, releaseTask } from '../../tasks/claims/claims.ts'
import { takenWords } from '../../tasks/claims/taken-words.ts'
import { renderBrief } from '../../tasks/render.ts'
import { makeBrief } from '../../tasks/view.ts'
import { makeTool, withTaken, type Desk } from '../tool.ts'
import { flag, lease } from '../../verbs/fields.ts'

export const claim = makeTool({
  name: 'claim',
  description: 'Take one task, or give it back with release.',
  input: z.strictObject({ id: z.string(), release: flag, lease }),
  run({ id, release = false, lease: time }, desk) {
    if (release) return giveBack(id, desk)
    const leaseMs = time === undefined ? undefined : parseDuration(time, 'lease')
    const task = claimTask(desk.places, id, { ...desk, leaseMs })
    return renderBrief(makeBrief(desk.places, task.id))
  },
})

function giveBack(word: string, desk: Desk): string {
  const taken: string[] = []
  const { words } = releaseTask(desk.places, word, {
    ...desk,
    onTaken: (id, held) => taken.push(takenWords(id, held)),
  })
  return withTaken(words, taken)
}
