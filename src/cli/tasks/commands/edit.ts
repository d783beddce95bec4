import { UserError } from '../../../base/errors.ts'
import type { Changes } from '../../../tasks/text/changes.ts'
import { plainLine, toJson } from '../../../tasks/render.ts'
import { readPriority, readStatus } from '../../../tasks/status.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { openDatabase, readIds, readList, TASK_OPTIONS, endedClaimLine } from '../database.ts'
import { guessField, STATUS_GUESSES } from '../first-guesses.ts'
import { printResult } from '../../print.ts'
import { withStdin } from '../stdin-text.ts'

export const editCommand: Command = {
  summary: 'Change one or more tasks; nothing else in their files changes.',
  usage: ['forge-tasks edit ID… [options]'],
  examples: [
    ['forge-tasks edit 7 --check-ac 1 --check-ac 2 --status done', 'two criteria, then done'],
    [
      'forge-tasks edit 7 --status blocked --append-notes "No access to the server"',
      'blocked, and why',
    ],
    ['forge-tasks edit 7 8 9 --label later --depends-on 3', 'several at once'],
  ],
  options: {
    title: { short: 't', value: '<text>', help: 'the title; the file keeps its name' },
    description: { short: 'd', value: '<text>', help: 'why the task exists; -: from stdin' },
    status: { short: 's', value: '<word>', help: 'todo, in-progress, blocked or done' },
    priority: { short: 'p', value: '<word>', help: 'high, medium, low or none' },
    assignee: { short: 'a', value: '<name>', help: 'who does it; empty to remove' },
    label: { short: 'l', value: '<name>', help: 'add a label, or several: a,b', repeats: true },
    'remove-label': { value: '<name>', help: 'remove a label', repeats: true },
    'depends-on': { value: '<id>', help: 'add a dependency', repeats: true },
    'remove-dep': { value: '<id>', help: 'remove a dependency', repeats: true },
    ac: { value: '<text>', help: 'add a criterion', repeats: true },
    'remove-ac': { value: '<N>', help: 'remove a criterion', repeats: true },
    'check-ac': { value: '<N>', help: 'check off a criterion', repeats: true },
    'uncheck-ac': { value: '<N>', help: 'uncheck a criterion', repeats: true },
    plan: { value: '<text>', help: 'how to do it; -: from stdin' },
    notes: { value: '<text>', help: 'replace the notes; -: from stdin' },
    'append-notes': { value: '<text>', help: 'add a note; -: from stdin', repeats: true },
    due: { value: '<date>', help: 'due date' },
    parent: { value: '<id>', help: 'the task that this one is part of' },
    force: { help: 'allow done with open criteria or dependencies' },
    ...TASK_OPTIONS,
  },
  guesses: {
    ...STATUS_GUESSES,
    note: 'Use: --append-notes "…"',
    comment: 'Use: --append-notes "…"',
    body: 'Use: --description "…"',
  },
  async run(input) {
    const ids = readIds(input)
    if (ids.length === 0)
      throw new UsageError('The id is missing.', 'Use an id such as TASK-001 or 1.')
    refuseFields(ids)
    const database = openDatabase(input)
    const warnings: string[] = []
    const tasks = database.editAll(ids, readChanges(await withStdin(input)), {
      force: input.flag('force'),
      onClaimEnded: (id, claim) => warnings.push(endedClaimLine(id, claim)),
      onDoubt: (id, what) => warnings.push(`forge-tasks: ${id} ${what}`),
    })
    if (warnings.length > 0) console.error(warnings.join('\n'))
    return printResult(input, { tasks: tasks.map(toJson) }, tasks.map(plainLine).join('\n'))
  },
}

/** Without this check, a value without its option would be taken for an id. */
function refuseFields(ids: readonly string[]): void {
  const [id, ...more] = ids
  const word = more.find((each) => guessField(each) !== undefined)
  if (word === undefined) return
  throw new UsageError(
    `Unexpected argument '${word}'.`,
    `Use: forge-tasks edit ${id} ${guessField(word)}`,
  )
}

function readChanges(input: Input): Changes {
  const numbers = (option: string) =>
    readList(input, option).map((text) => readNumber(text, option))
  return {
    title: input.text('title'),
    description: input.text('description'),
    status: readStatus(input.text('status')),
    priority: readPriority(input.text('priority')),
    assignee: input.text('assignee'),
    parent: input.text('parent'),
    due: input.text('due'),
    plan: input.text('plan'),
    notes: input.text('notes'),
    appendNotes: input.texts('append-notes'),
    addLabels: readList(input, 'label'),
    removeLabels: readList(input, 'remove-label'),
    addDependencies: readList(input, 'depends-on'),
    removeDependencies: readList(input, 'remove-dep'),
    addCriteria: input.texts('ac'),
    removeCriteria: numbers('remove-ac'),
    checkCriteria: numbers('check-ac'),
    uncheckCriteria: numbers('uncheck-ac'),
  }
}

function readNumber(text: string, option: string): number {
  if (/^#?\d+$/.test(text)) return Number(text.replace('#', ''))
  throw new UserError(`--${option} must be the number of a criterion, found '${text}'.`)
}
