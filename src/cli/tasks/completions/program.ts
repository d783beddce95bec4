import { SHELLS } from '../../commands/general.ts'
import { DIRECTORIES, once, oneOf, type Completions } from '../../completions/program.ts'
import { PRIORITIES } from '../../../tasks/status.ts'
import { FORGE_TASKS } from '../program.ts'
import {
  archivedIds,
  assignees,
  criteria,
  dependencies,
  ids,
  labels,
  labelsOfNamed,
} from './values.ts'

const OPEN_FIRST = ['In Progress', 'To Do', 'Blocked', 'Done'] as const

export const TASKS_COMPLETIONS: Completions = {
  program: FORGE_TASKS,
  values: {
    status: oneOf(['todo', 'in-progress', 'blocked', 'done']),
    priority: oneOf([...PRIORITIES, 'none']),
    cwd: DIRECTORIES,
    label: labels,
    'remove-label': labelsOfNamed,
    assignee: assignees,
    as: assignees,
    parent: ids(OPEN_FIRST),
    'depends-on': ids(OPEN_FIRST),
    'blocked-by': ids(OPEN_FIRST),
    'remove-dep': dependencies,
    'check-ac': criteria(({ isDone }) => !isDone),
    'uncheck-ac': criteria(({ isDone }) => isDone),
    'remove-ac': criteria(() => true),
  },
  words: {
    view: once(ids(OPEN_FIRST)),
    edit: ids(OPEN_FIRST),
    claim: once(ids(['To Do', 'In Progress'])),
    release: once(ids(['In Progress'])),
    archive: ids(['Done', 'To Do', 'In Progress', 'Blocked']),
    unarchive: archivedIds,
    delete: once(ids(['Done', 'To Do', 'Blocked', 'In Progress'])),
    completions: once(oneOf(SHELLS)),
  },
}
