import { z } from 'zod'
import type { Changes } from '../../tasks/text/changes.ts'
import { describeEndedClaim, plainLine } from '../../tasks/render.ts'
import { parseStatus, readPriority } from '../../tasks/status.ts'
import { makeTool, withWarnings } from '../tool.ts'
import { flag, numbers, priority, status, text, texts } from './fields.ts'

const changes = z.strictObject({
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
})

export const edit = makeTool({
  name: 'edit',
  description: 'Change tasks, all or none; an empty string removes a value.',
  input: changes.extend({
    ids: z.array(z.string()).refine((ids) => ids.length > 0, 'must not be empty'),
    force: flag.describe('done despite open items'),
  }),
  run({ ids, force = false, ...asked }, { database }) {
    const warnings: string[] = []
    const tasks = database.editAll(ids, readChanges(asked), {
      force,
      onClaimEnded: (id, claim) => warnings.push(describeEndedClaim(id, claim)),
    })
    return withWarnings(tasks.map(plainLine).join('\n'), warnings)
  },
})

function readChanges(asked: z.output<typeof changes>): Changes {
  const { title, description, assignee, plan, notes, due, parent } = asked
  return {
    title,
    description,
    assignee,
    plan,
    notes,
    due,
    parent,
    status: asked.status === undefined ? undefined : parseStatus(asked.status),
    priority: readPriority(asked.priority),
    appendNotes: asked.appendNotes === undefined ? [] : [asked.appendNotes],
    addLabels: asked.labels ?? [],
    removeLabels: asked.removeLabels ?? [],
    addDependencies: asked.dependsOn ?? [],
    removeDependencies: asked.removeDeps ?? [],
    addCriteria: asked.ac ?? [],
    removeCriteria: asked.removeAc ?? [],
    checkCriteria: asked.checkAc ?? [],
    uncheckCriteria: asked.uncheckAc ?? [],
  }
}
