import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { examine } from '../../../tasks/doctor.ts'
import { liveClaims } from '../../../tasks/claims.ts'
import { Graph } from '../../../tasks/ready.ts'
import { scanTasks } from '../../../tasks/scan.ts'
import { STATUSES } from '../../../tasks/words.ts'
import { UsageError, type Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { plainLine, renderTable, toJson } from '../render.ts'

export const searchCommand: Command = {
  summary: 'Find tasks in which all the words occur, anywhere in the file.',
  usage: ['forge-tasks search WORDS…'],
  examples: [['forge-tasks search login token', 'both words, in any case']],
  options: TASK_OPTIONS,
  async run(input) {
    const words = input.positionals.map((word) => word.toLowerCase())
    if (words.length === 0) throw new UsageError('What is to be found?', 'Write one or more words.')
    const { places } = openDatabase(input)
    const scan = scanTasks(places)
    warnBroken(scan)
    const found = scan.tasks.filter(({ file }) => {
      const text = readFileSync(join(places.tasks, file), 'utf8').toLowerCase()
      return words.every((word) => text.includes(word))
    })
    if (input.flag('json')) console.log(JSON.stringify({ tasks: found.map(toJson) }))
    else if (found.length > 0)
      console.log(input.flag('plain') ? found.map(plainLine).join('\n') : renderTable(found))
    else console.error('Nothing found.')
    return found.length === 0 ? 1 : 0
  },
}

export const statsCommand: Command = {
  summary: 'Count tasks by status, and how many are ready.',
  usage: ['forge-tasks stats'],
  examples: [['forge-tasks stats --json', 'for scripts']],
  options: TASK_OPTIONS,
  words: [],
  async run(input) {
    const { places } = openDatabase(input)
    const scan = scanTasks(places)
    warnBroken(scan)
    const ready = new Graph(places, scan.tasks, liveClaims(places)).ready().length
    const counts = STATUSES.map(
      (status) => [status, scan.tasks.filter((task) => task.status === status).length] as const,
    )
    const total = scan.tasks.length
    if (input.flag('json'))
      console.log(
        JSON.stringify({
          total,
          ready,
          byStatus: Object.fromEntries(counts),
          broken: scan.broken.length,
        }),
      )
    else
      console.log(
        [...counts, ['Ready', ready] as const, ['Total', total] as const]
          .map(([name, count]) => `${name}: ${count}`)
          .join('\n'),
      )
    return 0
  },
}

export const doctorCommand: Command = {
  summary: 'Find what is wrong with the files; with --fix, mend what can be mended.',
  usage: ['forge-tasks doctor [--fix]'],
  examples: [['forge-tasks doctor --fix', 'says what it did']],
  options: { fix: { help: 'mend ids, names and dependencies' }, ...TASK_OPTIONS },
  words: [],
  async run(input) {
    const { places } = openDatabase(input)
    const findings = examine(places, input.flag('fix'))
    const open = findings.filter(({ mended }) => mended === undefined)
    if (input.flag('json')) console.log(JSON.stringify({ findings }))
    else if (findings.length === 0) console.log('Nothing is wrong.')
    else
      for (const { file, problem, mended } of findings)
        console.log(`${file}: ${problem}${mended === undefined ? '' : ` -> ${mended}`}`)
    return open.length === 0 ? 0 : 1
  },
}
