import { z } from 'zod'
import {
  emptyListWords,
  explainReady,
  listReady,
  listTasks,
  type Filter,
} from '../../tasks/list.ts'
import { explainedLine, plainLine } from '../../tasks/render.ts'
import { searchTasks } from '../../tasks/search.ts'
import type { Task } from '../../tasks/task.ts'
import { parseStatus, readPriority } from '../../tasks/words.ts'
import { atMost, makeTool, withBroken, type Desk } from '../tool.ts'
import { flag, text, texts } from '../../verbs/fields.ts'

const DEFAULT_LIMIT = 100

const input = z.strictObject({
  ready: flag,
  explain: flag.describe('what each open task waits for'),
  archived: flag,
  search: text.describe('words in its file'),
  status: texts,
  priority: text,
  assignee: text,
  labels: texts,
  blockedBy: text,
  limit: z
    .number()
    .refine((limit) => limit >= 0, 'it is negative')
    .optional(),
})

type Input = z.output<typeof input>

export const list = makeTool({
  name: 'list',
  description: 'List tasks by priority and age, or what is ready in the order of next.',
  isReading: true,
  input,
  run(asked, desk) {
    const { lines, broken } = readLines(asked, desk)
    const { limit = DEFAULT_LIMIT } = asked
    const shown = atMost(Math.floor(limit), lines, 'filter, or give a higher limit')
    const isEmpty = shown.length === 0
    const words = isEmpty ? emptyListWords(desk.places, readFilter(asked)) : shown.join('\n')
    return withBroken(words, broken, desk)
  },
})

function readLines(asked: Input, desk: Desk) {
  const { places } = desk
  const filter = readFilter(asked)
  const isFound = makeSearch(asked.search, desk)
  if (asked.explain === true) {
    const { tasks, broken } = explainReady(places, filter, desk)
    return { lines: tasks.filter(({ task }) => isFound(task)).map(explainedLine), broken }
  }
  const { tasks, broken } =
    asked.ready === true ? listReady(places, filter, desk) : listTasks(places, filter)
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

function makeSearch(search: string | undefined, { places }: Desk): (task: Task) => boolean {
  const words = search?.split(/\s+/).filter((word) => word !== '') ?? []
  if (words.length === 0) return () => true
  const found = new Set(searchTasks(places, words).tasks.map(({ id }) => id))
  return ({ id }) => found.has(id)
}
