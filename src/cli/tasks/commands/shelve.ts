import { deleteTask } from '../../../tasks/delete.ts'
import { archiveTasks, unarchiveTasks } from '../../../tasks/shelve.ts'
import { UsageError, type Command } from '../../command.ts'
import { openDatabase, readIds, TASK_OPTIONS } from '../database.ts'
import { print, printLines } from '../print.ts'
import { onlyId } from './claim.ts'

export const archiveCommand: Command = {
  summary: 'Move tasks to the archive, where dependencies still find them.',
  usage: ['forge-tasks archive ID… [--force]', 'forge-tasks archive --done'],
  examples: [['forge-tasks archive --done', 'everything that is done']],
  options: {
    done: { help: 'all tasks that are done' },
    force: { help: 'also a task that is not done' },
    ...TASK_OPTIONS,
  },
  async run(input) {
    const words = readIds(input)
    const [isAll, force] = [input.flag('done'), input.flag('force')]
    if (!isAll && words.length === 0) throw new UsageError('The id is missing.', 'Or write --done.')
    if (isAll && words.length > 0)
      throw new UsageError(`Unexpected argument '${words[0]}'.`, 'Give either ids, or --done.')
    const { places, ...asking } = openDatabase(input)
    const ids = archiveTasks(places, isAll ? 'done' : words, { ...asking, force })
    if (input.flag('json')) print(JSON.stringify({ ids }))
    else if (input.flag('plain')) printLines(ids)
    else print(ids.length === 0 ? 'Nothing to archive.' : `Archived ${ids.join(', ')}`)
    return 0
  },
}

export const unarchiveCommand: Command = {
  summary: 'Bring tasks back from the archive, all or none.',
  usage: ['forge-tasks unarchive ID…'],
  examples: [['forge-tasks unarchive 7', 'in the status that it has; see: list --archived']],
  options: TASK_OPTIONS,
  async run(input) {
    const words = readIds(input)
    if (words.length === 0) {
      throw new UsageError('The id is missing.', 'See: forge-tasks list --archived')
    }
    const ids = unarchiveTasks(openDatabase(input).places, words)
    if (input.flag('json')) print(JSON.stringify({ ids }))
    else if (input.flag('plain')) printLines(ids)
    else print(`Unarchived ${ids.join(', ')}`)
    return 0
  },
}

export const deleteCommand: Command = {
  summary: 'Delete a task that nothing depends on.',
  usage: ['forge-tasks delete ID [--force]'],
  examples: [['forge-tasks delete 7', 'its number is not given again']],
  options: { force: { help: 'although others depend on it, or are its parts' }, ...TASK_OPTIONS },
  async run(input) {
    const { places, ...asking } = openDatabase(input)
    const id = deleteTask(places, onlyId(input), { ...asking, force: input.flag('force') })
    if (input.flag('json')) print(JSON.stringify({ id }))
    else print(input.flag('plain') ? id : `Deleted ${id}`)
    return 0
  },
}
