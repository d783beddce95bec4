import { z } from 'zod'
import { renderBrief } from '../../tasks/render.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import { makeTool, withBroken } from '../tool.ts'
import { flag } from './fields.ts'

export const view = makeTool({
  name: 'view',
  description: 'Everything about one task.',
  isReading: true,
  input: z.strictObject({ id: z.string(), history: flag.describe('include commits') }),
  run({ id, history = false }, context) {
    let broken: readonly Broken[] = []
    const brief = context.database.view(id, { history, onBroken: (found) => (broken = found) })
    return withBroken(renderBrief(brief), broken, context)
  },
})
