import { z } from 'zod'
import { examine } from '../../tasks/doctor/examine.ts'
import { findingLine, renderStats } from '../../tasks/render.ts'
import { countTasks } from '../../tasks/stats.ts'
import { atMost, makeTool } from '../tool.ts'
import { flag } from '../../verbs/fields.ts'

const MOST_FINDINGS = 100

export const doctor = makeTool({
  name: 'doctor',
  description: 'Count tasks and check their files; fix mends them.',
  input: z.strictObject({ fix: flag }),
  run({ fix = false }, desk) {
    const findings = examine(desk.places, fix, desk.now)
    const lines = findings.length === 0 ? ['Nothing is wrong.'] : findings.map(findingLine)
    const shown = atMost(MOST_FINDINGS, lines, 'see to these first')
    return [renderStats(countTasks(desk.places, desk)), '', ...shown].join('\n')
  },
})
