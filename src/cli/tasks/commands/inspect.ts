import type { Finding } from '../../../tasks/doctor/check.ts'
import { findingLine, renderStats, toJson } from '../../../tasks/render.ts'
import { UsageError, type Command } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { print, printLines, printResult } from '../../print.ts'
import { printTasks } from '../render.ts'

export const searchCommand: Command = {
  summary: 'Find tasks whose file contains all the words.',
  usage: ['forge-tasks search WORDS…'],
  examples: [['forge-tasks search login token', 'both words, ignoring case']],
  options: TASK_OPTIONS,
  async run(input) {
    const words = [...input.positionals, ...input.rest]
    if (words.length === 0)
      throw new UsageError('No search words given.', 'Pass one or more words.')
    const { tasks, broken } = openDatabase(input).search(words)
    warnBroken({ broken })
    if (input.flag('json')) print(JSON.stringify({ tasks: tasks.map(toJson), broken }))
    else if (tasks.length > 0) printTasks(tasks, input)
    else console.error('No matches.')
    return tasks.length === 0 ? 1 : 0
  },
}

export const statsCommand: Command = {
  summary: 'Count tasks by status and priority, and show how many are ready.',
  usage: ['forge-tasks stats'],
  examples: [['forge-tasks stats --json', 'for scripts']],
  options: TASK_OPTIONS,
  words: [],
  async run(input) {
    const stats = openDatabase(input).stats()
    warnBroken(stats)
    return printResult(input, stats, renderStats(stats))
  },
}

export const doctorCommand: Command = {
  summary: 'Check the task files; with --fix, repair them where possible.',
  usage: ['forge-tasks doctor [--fix]'],
  examples: [['forge-tasks doctor --fix', 'repair, and report what was done']],
  options: { fix: { help: 'repair ids, names, dependencies, conflicts' }, ...TASK_OPTIONS },
  words: [],
  async run(input) {
    const fix = input.flag('fix')
    const findings = openDatabase(input).doctor({ fix })
    const left = findings.filter(({ mended }) => mended === undefined)
    if (input.flag('json')) print(JSON.stringify({ findings }))
    else if (input.flag('plain')) printLines(findings.map(findingLine))
    else if (findings.length === 0) print('No problems found.')
    else printFindings(findings, left, fix)
    return left.length === 0 ? 0 : 1
  },
}

function printFindings(findings: readonly Finding[], left: readonly Finding[], fix: boolean): void {
  const fixed = findings.filter((finding) => !left.includes(finding))
  const isMixed = fixed.length > 0 && left.length > 0
  const lines = [
    ...(isMixed ? ['Fixed:'] : []),
    ...fixed.map(findingLine),
    ...(isMixed ? ['Not fixed:'] : []),
    ...left.map(findingLine),
  ]
  print(lines.join('\n'))
  console.error(
    fix
      ? `${fixed.length} fixed, ${left.length} left.`
      : `${left.length} found. To fix what can be fixed automatically: forge-tasks doctor --fix`,
  )
}
