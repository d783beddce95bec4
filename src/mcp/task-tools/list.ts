import { z } from 'zod'
import { flag, text, texts } from './fields.ts'
import type { TaskDatabase } from '../../tasks/database.ts'
import type { Filter, Listing } from '../../tasks/list.ts'
import { explainedLine, plainLine, renderBrief } from '../../tasks/render.ts'
import { parseStatus, readPriority } from '../../tasks/status.ts'
import type { Broken } from '../../tasks/store/scan.ts'
import type { Task } from '../../tasks/task.ts'
import { atMost, makeTaskTool, withBroken, type TaskContext } from './task-tool.ts'

const DEFAULT_LIMIT = 100

export const list = makeTaskTool({
  name: 'list',
  description: 'List tasks by priority and age, or ready ones in the order of next.',
  isReading: true,
  input: z.strictObject({
    ready: flag,
    explain: flag.describe('why each open task is ready or not'),
    archived: flag,
    search: text.describe('words in the file'),
    status: texts,
    priority: text,
    assignee: text,
    labels: texts,
    blockedBy: text,
    limit: z
      .number()
      .refine((limit) => limit >= 0, 'must not be negative')
      .optional(),
  }),
  run({ ready, explain, search, limit = DEFAULT_LIMIT, ...asked }, context) {
    const { database } = context
    const filter = {
      statuses: (asked.status ?? []).map(parseStatus),
      priority: readPriority(asked.priority),
      assignee: asked.assignee,
      labels: asked.labels ?? [],
      blockedBy: asked.blockedBy,
      archived: asked.archived === true,
    }
    const isFound = makeSearch(search, context)
    const { lines, broken } = explain
      ? explainLines(database, filter, isFound)
      : listLines(ready ? database.ready(filter) : database.list(filter), isFound)
    const shown = atMost(Math.floor(limit), lines, 'filter, or raise the limit')
    const words = shown.length === 0 ? database.describeEmptyList(filter) : shown.join('\n')
    return withBroken(words, broken, context)
  },
})

type Test = (task: Task) => boolean

function listLines({ tasks, broken }: Listing, isFound: Test) {
  return { lines: tasks.filter(isFound).map(plainLine), broken }
}

function explainLines(database: TaskDatabase, filter: Filter, isFound: Test) {
  const { tasks, broken } = database.explainListing(filter)
  return { lines: tasks.filter(({ task }) => isFound(task)).map(explainedLine), broken }
}

function makeSearch(search: string | undefined, { database }: TaskContext): Test {
  const words = search?.split(/\s+/).filter((word) => word !== '') ?? []
  if (words.length === 0) return () => true
  const found = new Set(database.search(words).tasks.map(({ id }) => id))
  return ({ id }) => found.has(id)
}

export const view = makeTaskTool({
  name: 'view',
  description: 'Show one task in full.',
  isReading: true,
  input: z.strictObject({ id: z.string(), history: flag.describe('include commits') }),
  run({ id, history = false }, context) {
    let broken: readonly Broken[] = []
    const brief = context.database.view(id, { history, onBroken: (found) => (broken = found) })
    return withBroken(renderBrief(brief), broken, context)
  },
})
