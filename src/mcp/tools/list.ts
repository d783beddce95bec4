import { z } from 'zod'
import type { Filter } from '../../tasks/list.ts'
import { explainedLine, plainLine } from '../../tasks/render.ts'
import type { Task } from '../../tasks/task.ts'
import { parseStatus, readPriority } from '../../tasks/status.ts'
import { atMost, makeTool, withBroken, type TaskContext } from '../tool.ts'
import { flag, text, texts } from './fields.ts'

const DEFAULT_LIMIT = 100

const input = z.strictObject({
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
})

type Input = z.output<typeof input>

export const list = makeTool({
  name: 'list',
  description: 'List tasks by priority and age, or ready ones in the order of next.',
  isReading: true,
  input,
  run(asked, context) {
    const { lines, broken } = readLines(asked, context)
    const { limit = DEFAULT_LIMIT } = asked
    const shown = atMost(Math.floor(limit), lines, 'filter, or raise the limit')
    const isEmpty = shown.length === 0
    const words = isEmpty ? context.database.describeEmptyList(readFilter(asked)) : shown.join('\n')
    return withBroken(words, broken, context)
  },
})

function readLines(asked: Input, context: TaskContext) {
  const { database } = context
  const filter = readFilter(asked)
  const isFound = makeSearch(asked.search, context)
  if (asked.explain === true) {
    const { tasks, broken } = database.explainListing(filter)
    return { lines: tasks.filter(({ task }) => isFound(task)).map(explainedLine), broken }
  }
  const { tasks, broken } = asked.ready === true ? database.ready(filter) : database.list(filter)
  return { lines: tasks.filter(isFound).map(plainLine), broken }
}

function readFilter(asked: Input): Filter {
  return {
    statuses: (asked.status ?? []).map(parseStatus),
    priority: readPriority(asked.priority),
    assignee: asked.assignee,
    labels: asked.labels ?? [],
    blockedBy: asked.blockedBy,
    archived: asked.archived === true,
  }
}

function makeSearch(
  search: string | undefined,
  { database }: TaskContext,
): (task: Task) => boolean {
  const words = search?.split(/\s+/).filter((word) => word !== '') ?? []
  if (words.length === 0) return () => true
  const found = new Set(database.search(words).tasks.map(({ id }) => id))
  return ({ id }) => found.has(id)
}
