import { z } from 'zod'
import { findingLine, renderStats } from '../../tasks/render.ts'
import { atMost, makeTool } from '../tool.ts'
import { flag } from './fields.ts'

const MOST_FINDINGS = 100

export const doctor = makeTool({
  name: 'doctor',
  description: 'Count tasks and check their files; fix repairs them.',
  input: z.strictObject({ fix: flag }),
  run({ fix = false }, { database }) {
    const findings = database.doctor({ fix })
    const lines = findings.length === 0 ? ['No problems found.'] : findings.map(findingLine)
    const shown = atMost(MOST_FINDINGS, lines, 'fix these first')
    return [renderStats(database.stats()), '', ...shown].join('\n')
  },
})
