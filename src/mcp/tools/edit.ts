import { z } from 'zod'
import type { Changes } from '../../tasks/text/changes.ts'
import { takenWords } from '../../tasks/claims/taken-words.ts'
import { editTasks } from '../../tasks/edit.ts'
import { plainLine } from '../../tasks/render.ts'
import { parseStatus, readPriority } from '../../tasks/words.ts'
import { makeTool, withTaken } from '../tool.ts'
import { flag, numbers, priority, status, text, texts } from '../../verbs/fields.ts'

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
  notes: text.describe('replaces'),
  appendNotes: text,
  due: text,
  parent: text,
})

export const edit = makeTool({
  name: 'edit',
  description: 'Change tasks, all or none; an empty text removes a value.',
  input: changes.extend({
    ids: z.array(z.string()).refine((ids) => ids.length > 0, 'give at least one'),
    force: flag.describe('done despite what is open'),
  }),
  run({ ids, force = false, ...asked }, { places, owner, now }) {
    const taken: string[] = []
    const tasks = editTasks(places, ids, readChanges(asked), {
      owner,
      now,
      force,
      onTaken: (id, claim) => taken.push(takenWords(id, claim)),
    })
    return withTaken(tasks.map(plainLine).join('\n'), taken)
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
