import { UserError } from '../../../base/errors.ts'
import { liveClaims } from '../../../tasks/claims.ts'
import { readConfig } from '../../../tasks/config.ts'
import { parseId, renderId } from '../../../tasks/id.ts'
import { Graph } from '../../../tasks/ready.ts'
import { scanTasks } from '../../../tasks/scan.ts'
import { inListOrder, type Task } from '../../../tasks/task.ts'
import { parsePriority, parseStatus } from '../../../tasks/words.ts'
import type { Command, Input } from '../../command.ts'
import { openDatabase, TASK_OPTIONS, warnBroken } from '../database.ts'
import { plainLine, renderTable, toJson } from '../render.ts'

export const listCommand: Command = {
  summary: 'List tasks, by priority and age.',
  usage: ['forge-tasks list [options]'],
  examples: [
    ['forge-tasks list --ready', 'what can be begun now, in the order of `next`'],
    ['forge-tasks list --ready --explain', 'why each task is ready or not'],
    ['forge-tasks list -s todo -s blocked -l backend --plain', 'filtered, for scripts'],
  ],
  options: {
    status: { short: 's', value: '<word>', help: 'only this status', repeats: true },
    priority: { short: 'p', value: '<word>', help: 'only this priority' },
    assignee: { short: 'a', value: '<name>', help: 'only of this one' },
    label: { short: 'l', value: '<name>', help: 'only with this label', repeats: true },
    ready: { help: 'only what can be begun now' },
    explain: { help: 'with --ready: all open tasks, and what each waits for' },
    'blocked-by': { value: '<id>', help: 'only what waits for this task' },
    limit: { value: '<N>', help: 'the first N' },
    ...TASK_OPTIONS,
  },
  words: [],
  run: async (input) => listTasks(input),
}

function listTasks(input: Input): number {
  const { places } = openDatabase(input)
  const scan = scanTasks(places)
  warnBroken(scan)
  const needsGraph = input.flag('ready')
  const graph = needsGraph ? new Graph(places, scan.tasks, liveClaims(places)) : undefined
  const chosen = scan.tasks.filter(makeFilter(input, readPrefix(input, places)))
  if (graph !== undefined && input.flag('explain')) return explain(graph, chosen, input)
  const sorted =
    graph === undefined
      ? chosen.toSorted(inListOrder)
      : graph.sorted(chosen.filter((task) => graph.judge(task).isReady))
  const tasks = sorted.slice(0, readLimit(input))
  if (input.flag('json'))
    console.log(JSON.stringify({ tasks: tasks.map(toJson), broken: scan.broken }))
  else if (tasks.length > 0) {
    console.log(input.flag('plain') ? tasks.map(plainLine).join('\n') : renderTable(tasks))
  } else if (!input.flag('plain')) console.log('No tasks.')
  return 0
}

function explain(graph: Graph, tasks: readonly Task[], input: Input): number {
  const open = graph.sorted(tasks.filter(({ status }) => status !== 'Done'))
  const judged = open.map((task) => graph.judge(task))
  if (input.flag('json')) {
    console.log(
      JSON.stringify({ tasks: judged.map(({ task, ...rest }) => ({ ...toJson(task), ...rest })) }),
    )
    return 0
  }
  for (const { task, isReady, reasons } of judged) {
    console.log(`${plainLine(task)} | ${isReady ? 'ready' : reasons.join('; ')}`)
  }
  return 0
}

function makeFilter(input: Input, prefix: string): (task: Task) => boolean {
  const statuses = input.texts('status').map(parseStatus)
  const labels = input.texts('label')
  const [priority, assignee, blocker] = ['priority', 'assignee', 'blocked-by'].map((name) =>
    input.text(name),
  )
  const wanted = priority === undefined ? undefined : parsePriority(priority)
  const blockedBy = blocker === undefined ? undefined : renderId(parseId(blocker, prefix))
  return (task) =>
    (statuses.length === 0 || statuses.includes(task.status)) &&
    (wanted === undefined || task.priority === wanted) &&
    (assignee === undefined || task.assignee === assignee) &&
    labels.every((label) => task.labels.includes(label)) &&
    (blockedBy === undefined || task.dependencies.includes(blockedBy))
}

function readPrefix(input: Input, places: Parameters<typeof readConfig>[0]): string {
  return input.text('blocked-by') === undefined ? '' : readConfig(places).prefix
}

function readLimit(input: Input): number | undefined {
  const text = input.text('limit')
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw new UserError(`--limit is '${text}', expected a number.`)
}
