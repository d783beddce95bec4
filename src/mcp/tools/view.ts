import { z } from 'zod'
import { readHistory } from '../../tasks/history.ts'
import { renderBrief } from '../../tasks/render.ts'
import { scanTasks } from '../../tasks/store/scan.ts'
import { makeBrief } from '../../tasks/view.ts'
import { makeTool, withBroken } from '../tool.ts'
import { flag } from '../../verbs/fields.ts'

export const view = makeTool({
  name: 'view',
  description: 'Everything about one task.',
  isReading: true,
  input: z.strictObject({ id: z.string(), history: flag.describe('also its commits') }),
  run({ id, history = false }, desk) {
    const { places } = desk
    const scan = scanTasks(places)
    const brief = makeBrief(places, id, scan)
    const commits = history ? readHistory(places, brief.path) : []
    return withBroken(renderBrief({ ...brief, commits }), scan.broken, desk)
  },
})
