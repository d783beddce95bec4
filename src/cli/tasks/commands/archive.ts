import { UsageError, type Command } from '../../command.ts'
import { openDatabase, readIds, TASK_OPTIONS } from '../database.ts'
import { printIds, printResult } from '../../print.ts'
import { onlyId } from './claim.ts'

export const archiveCommand: Command = {
  summary: 'Archive tasks; dependencies on them stay valid.',
  usage: ['forge-tasks archive ID… [--force]', 'forge-tasks archive --done'],
  examples: [['forge-tasks archive --done', 'all done tasks']],
  options: {
    done: { help: 'archive all done tasks' },
    force: { help: 'archive tasks that are not done' },
    ...TASK_OPTIONS,
  },
  async run(input) {
    const words = readIds(input)
    const [isAll, force] = [input.flag('done'), input.flag('force')]
    if (!isAll && words.length === 0)
      throw new UsageError('The id is missing.', 'Pass ids or --done.')
    if (isAll && words.length > 0)
      throw new UsageError(`Unexpected argument '${words[0]}'.`, 'Pass either ids or --done.')
    const ids = openDatabase(input).archive(isAll ? 'done' : words, { force })
    const nothing = isAll ? 'Nothing to archive.' : `Already archived: ${words.join(', ')}`
    printIds(ids, input, ids.length === 0 ? nothing : `Archived ${ids.join(', ')}`)
    return 0
  },
}

export const unarchiveCommand: Command = {
  summary: 'Move tasks back from the archive, all or none.',
  usage: ['forge-tasks unarchive ID…'],
  examples: [['forge-tasks unarchive 7', 'keeps its status; see: list --archived']],
  options: TASK_OPTIONS,
  async run(input) {
    const words = readIds(input)
    if (words.length === 0) {
      throw new UsageError('The id is missing.', 'See: forge-tasks list --archived')
    }
    const ids = openDatabase(input).unarchive(words)
    printIds(ids, input, `Unarchived ${ids.join(', ')}`)
    return 0
  },
}

export const deleteCommand: Command = {
  summary: 'Delete a task that nothing depends on.',
  usage: ['forge-tasks delete ID [--force]'],
  examples: [['forge-tasks delete 7', 'its id is not reused']],
  options: { force: { help: 'even if others depend on it or have it as parent' }, ...TASK_OPTIONS },
  async run(input) {
    const id = openDatabase(input).delete(onlyId(input), { force: input.flag('force') })
    return printResult(input, { id }, input.flag('plain') ? id : `Deleted ${id}`)
  },
}
