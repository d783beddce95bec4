import { UserError } from '../../../base/errors.ts'
import type { Changes } from '../../../tasks/text/changes.ts'
import { editTasks } from '../../../tasks/edit.ts'
import { plainLine, toJson } from '../../../tasks/render.ts'
import { parseStatus, readPriority } from '../../../tasks/words.ts'
import { UsageError, type Command, type Input } from '../../command.ts'
import { openDatabase, readIds, TASK_OPTIONS } from '../database.ts'
import { guessField, STATUS_GUESSES } from '../first-guesses.ts'
import { print } from '../print.ts'
import { withStdin } from '../stdin-text.ts'
import { takenLine } from '../taken.ts'

export const editCommand: Command = {
  summary: 'Change one or more tasks; nothing but what is asked for changes.',
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
    assignee: { short: 'a', value: '<name>', help: 'who does it; empty: nobody' },
    label: { short: 'l', value: '<name>', help: 'add a label', repeats: true },
    'remove-label': { value: '<name>', help: 'remove a label', repeats: true },
    'depends-on': { value: '<id>', help: 'add a dependency', repeats: true },
    'remove-dep': { value: '<id>', help: 'remove a dependency', repeats: true },
    ac: { value: '<text>', help: 'add a criterion', repeats: true },
    'remove-ac': { value: '<N>', help: 'remove a criterion', repeats: true },
    'check-ac': { value: '<N>', help: 'a criterion is met', repeats: true },
    'uncheck-ac': { value: '<N>', help: 'it is not', repeats: true },
    plan: { value: '<text>', help: 'how to go about it; -: from stdin' },
    notes: { value: '<text>', help: 'the notes, anew; -: from stdin' },
    'append-notes': {
      value: '<text>',
      help: 'a note behind the others; -: from stdin',
      repeats: true,
    },
    due: { value: '<date>', help: 'until when' },
    parent: { value: '<id>', help: 'the task of which this is a part' },
    force: { help: 'done although criteria or dependencies are open' },
    ...TASK_OPTIONS,
  },
  guesses: {
    ...STATUS_GUESSES,
    note: 'Write: --append-notes "…"',
    comment: 'Write: --append-notes "…"',
    body: 'Write: --description "…"',
  },
  async run(input) {
    const ids = readIds(input)
    if (ids.length === 0) throw new UsageError('The id is missing.', 'Write e.g. TASK-001 or 1.')
    refuseFields(ids)
    const { places, owner, now } = openDatabase(input)
    const taken: string[] = []
    const tasks = editTasks(places, ids, readChanges(await withStdin(input)), {
      owner,
      now,
      force: input.flag('force'),
      onTaken: (id, claim) => taken.push(takenLine(id, claim)),
    })
    if (taken.length > 0) console.error(taken.join('\n'))
    if (input.flag('json')) print(JSON.stringify({ tasks: tasks.map(toJson) }))
    else print(tasks.map(plainLine).join('\n'))
    return 0
  },
}

/** A value without its option would be looked for as an id. */
function refuseFields(ids: readonly string[]): void {
  const [id, ...more] = ids
  const word = more.find((each) => guessField(each) !== undefined)
  if (word === undefined) return
  throw new UsageError(
    `Unexpected argument '${word}'.`,
    `Write: forge-tasks edit ${id} ${guessField(word)}`,
  )
}

function readChanges(input: Input): Changes {
  const status = input.text('status')
  const numbers = (option: string) => input.texts(option).map((text) => readNumber(text, option))
  return {
    title: input.text('title'),
    description: input.text('description'),
    status: status === undefined ? undefined : parseStatus(status),
    priority: readPriority(input.text('priority')),
    assignee: input.text('assignee'),
    parent: input.text('parent'),
    due: input.text('due'),
    plan: input.text('plan'),
    notes: input.text('notes'),
    appendNotes: input.texts('append-notes'),
    addLabels: input.texts('label'),
    removeLabels: input.texts('remove-label'),
    addDependencies: input.texts('depends-on'),
    removeDependencies: input.texts('remove-dep'),
    addCriteria: input.texts('ac'),
    removeCriteria: numbers('remove-ac'),
    checkCriteria: numbers('check-ac'),
    uncheckCriteria: numbers('uncheck-ac'),
  }
}

function readNumber(text: string, option: string): number {
  if (/^#?\d+$/.test(text)) return Number(text.replace('#', ''))
  throw new UserError(`--${option} is '${text}', expected the number of a criterion.`)
}
