import { shownPath } from '../../../base/terminal/printable.ts'
import { refuseNestedProject, openProject } from '../../../host/project.ts'
import type { Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS } from '../database.ts'
import { print } from '../../print.ts'

export const initCommand: Command = {
  summary: 'Write forge/tasks/config.json (optional: every other command works without it).',
  usage: ['forge-tasks init [--prefix P] [--name N]'],
  examples: [['forge-tasks init --prefix WEB --name "The shop"', 'ids are WEB-001, WEB-002, …']],
  options: {
    prefix: { value: '<word>', help: 'prefix of ids (default: TASK)' },
    name: { value: '<text>', help: 'name of the project' },
    ...TASK_OPTIONS,
  },
  words: [],
  async run(input) {
    refuseNestedProject(openProject(input.text('cwd'), process.env), 'forge-tasks init')
    const { path, isNew } = openDatabase(input).init({
      prefix: input.text('prefix'),
      name: input.text('name'),
    })
    if (input.flag('json')) print(JSON.stringify({ path, isNew }))
    else if (input.flag('plain')) print(path)
    else if (isNew) print(`Wrote ${shownPath(path)}`)
    else print(`${shownPath(path)} already exists; nothing was changed.`)
    return 0
  },
}
