import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { checkPrefix, configPath } from '../../../tasks/config.ts'
import type { Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS } from '../database.ts'

export const initCommand: Command = {
  summary: 'Write forge/tasks/config.json; every other command also works without it.',
  usage: ['forge-tasks init [--prefix P] [--name N]'],
  examples: [['forge-tasks init --prefix WEB --name "The shop"', 'ids are WEB-001, WEB-002, …']],
  options: {
    prefix: { value: '<word>', help: 'what ids begin with (TASK)' },
    name: { value: '<text>', help: 'name of the project' },
    ...TASK_OPTIONS,
  },
  words: [],
  async run(input) {
    const { places } = openDatabase(input)
    const path = configPath(places)
    if (existsSync(path)) {
      console.log(`${path} is there already; nothing was changed.`)
      return 0
    }
    const name = input.text('name')
    const config = {
      prefix: checkPrefix(input.text('prefix') ?? 'TASK'),
      ...(name === undefined ? {} : { name }),
      defaults: {},
    }
    mkdirSync(places.tasks, { recursive: true })
    writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { flag: 'wx' })
    console.log(`Wrote ${path}`)
    return 0
  },
}
