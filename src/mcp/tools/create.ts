import { z } from 'zod'
import type { NewTask } from '../../tasks/text/new-task.ts'
import { parseStatus, readPriority } from '../../tasks/status.ts'
import { makeTool } from '../tool.ts'
import { priority, text, texts } from './fields.ts'

const newTask = z.strictObject({
  title: z.string(),
  key: text,
  description: text,
  ac: texts.describe('acceptance criteria'),
  labels: texts,
  priority,
  assignee: text,
  dependsOn: texts.describe('ids, or @key of another new task'),
  parent: text,
  plan: text,
  due: text,
  status: text,
})

export const create = makeTool({
  name: 'create',
  description: 'Create tasks, all or none; returns their ids.',
  input: z.strictObject({
    tasks: z.array(newTask).refine((tasks) => tasks.length > 0, 'must not be empty'),
  }),
  run({ tasks }, { database }) {
    return database.createAll(tasks.map(readTask)).join('\n')
  },
})

function readTask(fields: z.output<typeof newTask>): NewTask {
  const { ac = [], labels = [], dependsOn = [], ...rest } = fields
  return {
    ...rest,
    labels,
    criteria: ac,
    dependencies: dependsOn,
    priority: readPriority(rest.priority),
    status: rest.status === undefined ? undefined : parseStatus(rest.status),
  }
}
