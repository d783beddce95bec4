import { z } from 'zod'
import { flag, numbers, priority, status, text, texts } from './fields.ts'
import { plainLine } from '../../tasks/render.ts'
import { readPriority, readStatus } from '../../tasks/status.ts'
import { makeTaskTool, withWarnings } from './task-tool.ts'

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

export const create = makeTaskTool({
  name: 'create',
  description: 'Create tasks, all or none; returns their ids.',
  input: z.strictObject({
    tasks: z.array(newTask).refine((tasks) => tasks.length > 0, 'must not be empty'),
  }),
  run({ tasks }, { database }) {
    const read = tasks.map(({ ac = [], labels = [], dependsOn = [], ...rest }) => ({
      ...rest,
      labels,
      criteria: ac,
      dependencies: dependsOn,
      priority: readPriority(rest.priority),
      status: readStatus(rest.status),
    }))
    return database.createAll(read).join('\n')
  },
})

export const edit = makeTaskTool({
  name: 'edit',
  description: 'Change tasks, all or none; an empty string removes a value.',
  input: z.strictObject({
    title: text,
    description: text,
    status,
    priority,
    assignee: text,
    labels: texts.describe('to add'),
    removeLabels: texts,
    dependsOn: texts.describe('to add'),
    removeDeps: texts,
    ac: texts.describe('criteria to add'),
    checkAc: numbers,
    uncheckAc: numbers,
    removeAc: numbers,
    plan: text,
    notes: text.describe('replaces all notes'),
    appendNotes: text,
    due: text,
    parent: text,
    ids: z.array(z.string()).refine((ids) => ids.length > 0, 'must not be empty'),
    force: flag.describe('allow done with open items'),
  }),
  run({ ids, force = false, ...asked }, { database }) {
    const { labels, dependsOn, removeDeps, ac, removeAc, checkAc, uncheckAc, ...fields } = asked
    const changes = {
      ...fields,
      status: readStatus(fields.status),
      priority: readPriority(fields.priority),
      appendNotes: fields.appendNotes === undefined ? [] : [fields.appendNotes],
      addLabels: labels ?? [],
      removeLabels: fields.removeLabels ?? [],
      addDependencies: dependsOn ?? [],
      removeDependencies: removeDeps ?? [],
      addCriteria: ac ?? [],
      removeCriteria: removeAc ?? [],
      checkCriteria: checkAc ?? [],
      uncheckCriteria: uncheckAc ?? [],
    }
    return withWarnings((options) =>
      database
        .editAll(ids, changes, { force, ...options })
        .map(plainLine)
        .join('\n'),
    )
  },
})
