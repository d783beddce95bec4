import { examine } from '../../../tasks/doctor/examine.ts'
import type { Finding } from '../../../tasks/doctor/finding.ts'
import { findingLine, renderStats, toJson } from '../../../tasks/render.ts'
import { searchTasks } from '../../../tasks/search.ts'
import { countTasks } from '../../../tasks/stats.ts'
import { UsageError, type Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { print, printLines } from '../print.ts'
import { printTasks } from '../render.ts'

export const searchCommand: Command = {
  summary: 'Find tasks in which all the words occur, anywhere in the file.',
  usage: ['forge-tasks search WORDS…'],
  examples: [['forge-tasks search login token', 'both words, in any case']],
  options: TASK_OPTIONS,
  async run(input) {
    const words = [...input.positionals, ...input.rest]
    if (words.length === 0) throw new UsageError('What is to be found?', 'Write one or more words.')
    const { places } = openDatabase(input)
    const { tasks, broken } = searchTasks(places, words)
    warnBroken({ broken })
    if (input.flag('json')) print(JSON.stringify({ tasks: tasks.map(toJson), broken }))
    else if (tasks.length > 0) printTasks(tasks, input)
    else console.error('Nothing found.')
    return tasks.length === 0 ? 1 : 0
  },
}

export const statsCommand: Command = {
  summary: 'Count tasks by status and priority, and how many are ready.',
  usage: ['forge-tasks stats'],
  examples: [['forge-tasks stats --json', 'for scripts']],
  options: TASK_OPTIONS,
  words: [],
  async run(input) {
    const database = openDatabase(input)
    const stats = countTasks(database.places, database)
    warnBroken(stats)
    if (input.flag('json')) {
      print(JSON.stringify(stats))
      return 0
    }
    print(renderStats(stats))
    return 0
  },
}

export const doctorCommand: Command = {
  summary: 'Find what is wrong with the files; with --fix, mend what can be mended.',
  usage: ['forge-tasks doctor [--fix]'],
  examples: [['forge-tasks doctor --fix', 'says what it did']],
  options: { fix: { help: 'mend ids, names, dependencies, conflicts' }, ...TASK_OPTIONS },
  words: [],
  async run(input) {
    const { places, now } = openDatabase(input)
    const fix = input.flag('fix')
    const findings = examine(places, fix, now)
    const left = findings.filter(({ mended }) => mended === undefined)
    if (input.flag('json')) print(JSON.stringify({ findings }))
    else if (input.flag('plain')) printLines(findings.map(findingLine))
    else if (findings.length === 0) print('Nothing is wrong.')
    else tellFindings(findings, left, fix)
    return left.length === 0 ? 0 : 1
  },
}

/** What was mended and what is left, apart, and how many they are. */
function tellFindings(findings: readonly Finding[], left: readonly Finding[], fix: boolean): void {
  const mended = findings.filter((finding) => !left.includes(finding))
  const isMixed = mended.length > 0 && left.length > 0
  const lines = [
    ...(isMixed ? ['Mended:'] : []),
    ...mended.map(findingLine),
    ...(isMixed ? ['Left to you:'] : []),
    ...left.map(findingLine),
  ]
  print(lines.join('\n'))
  const rest = left.length === 0 ? 'nothing is left' : `${left.length} left to you`
  console.error(
    fix
      ? `${mended.length} mended, ${rest}.`
      : `${left.length} found. What has one right answer is mended by: forge-tasks doctor --fix`,
  )
}
